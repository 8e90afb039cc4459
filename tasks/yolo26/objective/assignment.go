package objective

// Positive is an anchor that answers for an object.
type Positive struct {
	// Anchor and Object index the grid and the objects of the image.
	Anchor, Object int
	// Label is the class of the object.
	Label int
	// Quality is the weight q of the positive and its class target. It is 0
	// where the prediction does not meet the object at all; the anchor is
	// still a positive, which matters to the terms that do not use q.
	Quality float64
}

// Assignment is the outcome for one branch of one batch. An anchor that is not
// listed is background.
type Assignment struct {
	// Images lists the positives of every image, ascending by anchor.
	Images [][]Positive
	// Count is P, the number of positives of the batch.
	Count int
	// Quality is the sum of q over the batch.
	Quality float64
	// Normaliser is W = max(Quality, 1).
	Normaliser float64
}

func newAssignment(images [][]Positive) *Assignment {
	assignment := &Assignment{Images: images}
	for _, positives := range images {
		assignment.Count += len(positives)
		for _, positive := range positives {
			assignment.Quality += positive.Quality
		}
	}
	assignment.Normaliser = max(assignment.Quality, 1)
	return assignment
}

// Pairs lists [anchor, object] of every positive per image, ascending by
// anchor. An image without positives has an empty list.
func (a *Assignment) Pairs() [][][2]int {
	pairs := make([][][2]int, len(a.Images))
	for image, positives := range a.Images {
		pairs[image] = make([][2]int, len(positives))
		for i, positive := range positives {
			pairs[image][i] = [2]int{positive.Anchor, positive.Object}
		}
	}
	return pairs
}
