package precision

// ClassPrecision is the average precision of one class over all areas: the mean
// over the ten thresholds, and that at 0.50 alone. Both are -1 without ground
// truth; objects counts that. A class outside the evaluation is an error.
func (e *COCO) ClassPrecision(class int) (average, at50 float64, objects int, err error) {
	return classPrecision(class, func(index int) ([]CurvePoint, error) { return e.Curve(class, index) }, e.classes)
}

// ClassPrecision is the average precision of one class: the mean over the ten
// thresholds, and that at 0.50 alone. Both are -1 without objects that are not
// difficult; objects counts those. A class outside the evaluation is an error.
func (e *Oriented) ClassPrecision(class int) (average, at50 float64, objects int, err error) {
	return classPrecision(class, func(index int) ([]CurvePoint, error) { return e.Curve(class, index) }, e.classes)
}

func classPrecision(class int, curve func(index int) ([]CurvePoint, error), classes []tally) (average, atHalf float64, objects int, err error) {
	var values []float64
	for index := range thresholds {
		points, err := curve(index)
		if err != nil {
			return 0, 0, 0, err
		}
		if objects = classes[class].positives[AllAreas]; objects == 0 {
			return -1, -1, 0, nil
		}
		values = append(values, averagePrecision(points, objects))
	}
	return mean(values), values[at50], objects, nil
}
