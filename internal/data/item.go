package data

// Item is one image of a data set with its labels.
type Item struct {
	// Image and Label are file paths; Label need not exist.
	Image, Label string
	// Width and Height are the image's size in pixels.
	Width, Height int
	// Target is in pixels of the image.
	Target Target
	// Annotated is what a COCO file says, in place of Target, when the data set
	// was opened with Options.Evaluation.
	Annotated []Annotated
	// ID is the image's id in a COCO file, 0 otherwise.
	ID int64
	// SourceImage and Window, [x0 y0 x1 y1] in its pixels, say of a tile where
	// it was cut; they are empty for other images.
	SourceImage string
	Window      []int
}

// instances counts the instances of an image; a crowd is none.
func (i Item) instances() int {
	count := i.Target.Len()
	for _, annotated := range i.Annotated {
		if !annotated.Crowd {
			count++
		}
	}
	return count
}
