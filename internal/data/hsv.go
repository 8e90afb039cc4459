package data

import "fmt"

// HSVStep is the pipeline step that jitters hue, saturation and value (data and
// evaluation specification, section 6.7). The fields are the half-ranges of the
// uniform gains, drawn in that order.
type HSVStep struct {
	// Hue is added modulo 1, Saturation and Value multiply by 1 + gain.
	Hue, Saturation, Value float64
}

// DefaultHSV are the half-ranges of the YOLO26 recipe.
var DefaultHSV = HSVStep{Hue: 0.015, Saturation: 0.7, Value: 0.4}

// Name is "hsv".
func (s HSVStep) Name() string { return "hsv" }

// Validate refuses half-ranges outside [0,1].
func (s HSVStep) Validate() error {
	for _, half := range [3]float64{s.Hue, s.Saturation, s.Value} {
		if !(half >= 0 && half <= 1) {
			return fmt.Errorf("hsv: half-range %v is outside 0..1; the recipe uses 0.015, 0.7 and 0.4", half)
		}
	}
	return nil
}

// Apply draws the three gains and jitters the image; the target stays.
func (s HSVStep) Apply(draw *Draw, sample Sample) (Sample, error) {
	hue := draw.uniform(-s.Hue, s.Hue)
	saturation := draw.uniform(-s.Saturation, s.Saturation)
	value := draw.uniform(-s.Value, s.Value)
	pixels := sample.Image.Pixels
	for i := 0; i < len(pixels); i += 3 {
		p := pixels[i : i+3 : i+3]
		p[0], p[1], p[2] = shiftHSV(p[0], p[1], p[2], float32(hue), float32(saturation), float32(value))
	}
	return sample, nil
}

// shiftHSV applies the gains to one colour. The hue gain is within [-1,1], so one
// turn brings the hue back.
func shiftHSV(r, g, b, hueGain, saturationGain, valueGain float32) (float32, float32, float32) {
	hue, saturation, value := rgbToHSV(r, g, b)
	if hue += hueGain; hue < 0 {
		hue++
	} else if hue > 1 {
		hue--
	}
	saturation = min(max(saturation*(1+saturationGain), 0), 1)
	value = min(max(value*(1+valueGain), 0), 1)
	return hsvToRGB(hue, saturation, value)
}

// rgbToHSV is the hexcone conversion; hue is in turns. Among equal largest
// channels red wins, then green.
func rgbToHSV(r, g, b float32) (hue, saturation, value float32) {
	value = max(r, g, b)
	chroma := value - min(r, g, b)
	if chroma == 0 {
		return 0, 0, value
	}
	switch value {
	case r:
		hue = (g - b) / chroma
		if hue < 0 {
			hue += 6
		}
	case g:
		hue = (b-r)/chroma + 2
	default:
		hue = (r-g)/chroma + 4
	}
	return hue / 6, chroma / value, value
}

// hsvToRGB is the inverse of rgbToHSV for a hue in [0,1].
func hsvToRGB(hue, saturation, value float32) (r, g, b float32) {
	sextant := int(hue * 6)
	fraction := hue*6 - float32(sextant)
	low := value * (1 - saturation)
	falling := value * (1 - fraction*saturation)
	rising := value * (1 - (1-fraction)*saturation)
	switch sextant {
	case 1:
		return falling, value, low
	case 2:
		return low, value, rising
	case 3:
		return low, falling, value
	case 4:
		return rising, low, value
	case 5:
		return value, low, falling
	default:
		// Sextant 0, and hue 1, which is the same red: its fraction is 0.
		return value, rising, low
	}
}
