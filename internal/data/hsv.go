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
	newJitter(float32(hue), float32(saturation), float32(value)).apply(sample.Image.Pixels)
	return sample, nil
}

// jitter applies one set of gains to many pixels.
type jitter struct {
	hue, saturation, value float32
	// turn is the hue gain in sextants, saturated and valued the two factors,
	// and both their product.
	turn, saturated, valued, both float32
}

func newJitter(hue, saturation, value float32) jitter {
	return jitter{
		hue: hue, saturation: saturation, value: value,
		turn: 6 * hue, saturated: 1 + saturation, valued: 1 + value, both: float32((1 + saturation) * (1 + value)),
	}
}

// apply is shiftHSV for every pixel. Nearly all stay in their sextant of the hue
// circle and below full value and saturation; there the conversion to HSV and
// back comes down to three products: the largest channel is scaled by the value
// gain, the chroma by both gains, and the middle channel moves by the hue gain.
func (j jitter) apply(pixels []float32) {
	for ; len(pixels) >= 3; pixels = pixels[3:] {
		p := pixels[:3:3]
		r, g, b := p[0], p[1], p[2]
		// The middle channel rises with the hue in the even sextants and falls
		// in the odd ones.
		var high, middle, low *float32
		turn := j.turn
		switch {
		case r >= g && g >= b:
			high, middle, low = &p[0], &p[1], &p[2]
		case r >= g && r >= b:
			high, middle, low, turn = &p[0], &p[2], &p[1], -turn
		case r >= g:
			high, middle, low = &p[2], &p[0], &p[1]
		case g >= b && r >= b:
			high, middle, low, turn = &p[1], &p[0], &p[2], -turn
		case g >= b:
			high, middle, low = &p[1], &p[2], &p[0]
		default:
			high, middle, low, turn = &p[2], &p[1], &p[0], -turn
		}
		value, chroma := *high, *high-*low
		newValue := value * j.valued
		newChroma := chroma * j.both
		rise := float32((*middle-*low)*j.both) + float32(turn*newChroma)
		if newValue > 1 || float32(chroma*j.saturated) > value || rise < 0 || rise > newChroma {
			p[0], p[1], p[2] = shiftHSV(r, g, b, j.hue, j.saturation, j.value)
			continue
		}
		*high, *middle, *low = newValue, newValue-newChroma+rise, newValue-newChroma
	}
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
