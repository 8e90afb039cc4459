package precision

import "fmt"

// Precision is the average precision over classes with ground truth in an area
// range: the mean over the ten thresholds.
func (e *COCO) Precision(area Area) float64 {
	var values []float64
	for index := range thresholds {
		values = append(values, e.precisions(area, index)...)
	}
	return mean(values)
}

// Precision50 is the average precision at an overlap of 0.50.
func (e *COCO) Precision50() float64 { return mean(e.precisions(AllAreas, at50)) }

// Precision75 is the average precision at an overlap of 0.75.
func (e *COCO) Precision75() float64 { return mean(e.precisions(AllAreas, at75)) }

// precisions are the average precisions of the classes with ground truth.
func (e *COCO) precisions(area Area, index int) []float64 {
	var values []float64
	e.curves(area, index, e.limit, func(points []CurvePoint, positives int) {
		values = append(values, averagePrecision(points, positives))
	})
	return values
}

// Recall is the recall attained with the limit best detections per image and
// class: the mean over the ten thresholds and the classes with ground truth.
func (e *COCO) Recall(area Area, limit int) float64 {
	var values []float64
	for index := range thresholds {
		values = append(values, e.recalls(area, index, limit)...)
	}
	return mean(values)
}

func (e *COCO) recalls(area Area, index, limit int) []float64 {
	var values []float64
	e.curves(area, index, limit, func(points []CurvePoint, positives int) {
		values = append(values, recall(points, positives))
	})
	return values
}

// curves visits the classes with ground truth in ascending order.
func (e *COCO) curves(area Area, index, limit int, visit func(points []CurvePoint, positives int)) {
	for class := range e.classes {
		t := &e.classes[class]
		positives := t.positives[area]
		if positives == 0 {
			continue
		}
		t.sort()
		visit(t.curve(cocoSetting(area, index), limit, positives), positives)
	}
}

// Curve is the precision-recall curve of a class over all areas at the threshold
// 0.50 + 0.05*index, index in 0..9. It is empty without ground truth.
func (e *COCO) Curve(class, index int) ([]CurvePoint, error) {
	return curveOf(e.classes, class, index, cocoSetting(AllAreas, index), e.limit)
}

func curveOf(classes []tally, class, index, setting, limit int) ([]CurvePoint, error) {
	if class < 0 || class >= len(classes) || index < 0 || index >= thresholds {
		return nil, fmt.Errorf("curve of class %d at threshold %d; give a class in 0..%d and a threshold in 0..%d",
			class, index, len(classes)-1, thresholds-1)
	}
	t := &classes[class]
	if t.positives[AllAreas] == 0 {
		return nil, nil
	}
	t.sort()
	return t.curve(setting, limit, t.positives[AllAreas]), nil
}

// BoxFigures are the twelve COCO statistics of boxes or masks, their names after
// prefix: map, map_50, map_75, map_s, map_m, map_l, mar_1, mar_10, mar_100,
// mar_s, mar_m, mar_l.
func (e *COCO) BoxFigures(prefix string) []Figure {
	figures := []Figure{
		{"map", e.Precision(AllAreas)}, {"map_50", e.Precision50()}, {"map_75", e.Precision75()},
		{"map_s", e.Precision(Small)}, {"map_m", e.Precision(Medium)}, {"map_l", e.Precision(Large)},
		{"mar_1", e.Recall(AllAreas, 1)}, {"mar_10", e.Recall(AllAreas, 10)}, {"mar_100", e.Recall(AllAreas, 100)},
		{"mar_s", e.Recall(Small, e.limit)}, {"mar_m", e.Recall(Medium, e.limit)}, {"mar_l", e.Recall(Large, e.limit)},
	}
	return prefixed(prefix, figures)
}

// KeypointFigures are the ten COCO statistics of keypoints: oks_map, oks_map_50,
// oks_map_75, oks_map_m, oks_map_l, and oks_mar with the same endings.
func (e *COCO) KeypointFigures() []Figure {
	return prefixed("oks_", []Figure{
		{"map", e.Precision(AllAreas)}, {"map_50", e.Precision50()}, {"map_75", e.Precision75()},
		{"map_m", e.Precision(Medium)}, {"map_l", e.Precision(Large)},
		{"mar", e.Recall(AllAreas, e.limit)},
		{"mar_50", mean(e.recalls(AllAreas, at50, e.limit))}, {"mar_75", mean(e.recalls(AllAreas, at75, e.limit))},
		{"mar_m", e.Recall(Medium, e.limit)}, {"mar_l", e.Recall(Large, e.limit)},
	})
}

func prefixed(prefix string, figures []Figure) []Figure {
	for i := range figures {
		figures[i].Name = prefix + figures[i].Name
	}
	return figures
}
