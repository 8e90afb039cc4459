package mask

import "fmt"

// FromRuns is the mask of COCO run lengths: column after column, the lengths of
// alternating runs of pixels outside and inside, outside first. Runs that do not
// add up to width x height pixels and negative ones are errors (YOLO26
// specification, data and evaluation section 9.1).
func FromRuns(runs []int, width, height int) (*Bitmap, error) {
	if err := CheckRuns(runs, width, height); err != nil {
		return nil, err
	}
	bitmap := New(width, height)
	pixel := 0
	for i, length := range runs {
		for end := pixel + length; pixel < end; pixel++ {
			if i%2 == 1 {
				bitmap.Set(pixel%height, pixel/height)
			}
		}
	}
	return bitmap, nil
}

// CheckRuns reports run lengths that FromRuns refuses.
func CheckRuns(runs []int, width, height int) error {
	pixel := 0
	for i, length := range runs {
		if length < 0 || length > width*height-pixel {
			return fmt.Errorf("run %d of %d pixels after %d of a mask of %d x %d; correct the runs or the size of the mask",
				i, length, pixel, width, height)
		}
		pixel += length
	}
	if pixel != width*height {
		return fmt.Errorf("runs of %d pixels for a mask of %d x %d; correct the runs or the size of the mask", pixel, width, height)
	}
	return nil
}

// The compressed text of COCO run lengths: 5 bits a letter, the lowest first.
const (
	firstLetter = '0'
	letterBits  = 5
	moreFollows = 1 << letterBits
	signBit     = 1 << (letterBits - 1)
	// maxLetters bounds a number to what 32 bits hold.
	maxLetters = 7
)

// ParseRuns reads the compressed text of COCO run lengths. From the fourth on, a
// number is the difference from the run two before, which is often small. Text
// that ends inside a number or has other letters is an error.
func ParseRuns(text string) ([]int, error) {
	var runs []int
	value, letters := 0, 0
	for i := range len(text) {
		code := int(text[i]) - firstLetter
		if code < 0 || code >= 2*moreFollows || letters == maxLetters {
			return nil, fmt.Errorf("run lengths: letter %q at %d is not part of a number; give the compressed counts of COCO", text[i], i)
		}
		value |= code & (moreFollows - 1) << (letterBits * letters)
		letters++
		if code&moreFollows != 0 {
			continue
		}
		if code&signBit != 0 {
			value -= 1 << (letterBits * letters)
		}
		if len(runs) > 2 {
			value += runs[len(runs)-2]
		}
		runs = append(runs, value)
		value, letters = 0, 0
	}
	if letters > 0 {
		return nil, fmt.Errorf("run lengths: the text %q ends inside a number; give it whole", text)
	}
	return runs, nil
}
