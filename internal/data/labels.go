package data

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Labels are the parsed rows of one label file.
type Labels struct {
	Target Target
	// Duplicates counts the rows dropped because an earlier row of the file had
	// the same values.
	Duplicates int
}

// ParseLabels reads the text of a YOLO label file for an image of width x height
// pixels and a data set of that many classes. Rows must be of the declared
// format; blank lines are skipped. All faults of the file are returned.
func ParseLabels(file string, text []byte, format RowFormat, classes, width, height int) (Labels, []Fault) {
	parser := rowParser{format: format, classes: classes, width: float64(width), height: float64(height)}
	var labels Labels
	var faults []Fault
	seen := map[string]bool{}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for i, row := range strings.Split(string(text), "\n") {
		fields := strings.Fields(row)
		if len(fields) == 0 {
			continue
		}
		values, fault := parser.values(fields)
		var label int
		var found instance
		if fault == nil {
			label, found, fault = parser.instance(values)
		}
		if fault != nil {
			fault.File, fault.Line = file, i+1
			faults = append(faults, *fault)
			continue
		}
		key := fmt.Sprint(values)
		if seen[key] {
			labels.Duplicates++
			continue
		}
		seen[key] = true
		labels.Target.add(label, found)
	}
	return labels, faults
}

// rowParser reads the rows of one file.
type rowParser struct {
	format        RowFormat
	classes       int
	width, height float64
}

func (p rowParser) values(fields []string) ([]float64, *Fault) {
	if !p.format.accepts(len(fields)) {
		return nil, &Fault{
			Problem: fmt.Sprintf("%d fields where the declared format is %s", len(fields), p.format.Name()),
			Remedy:  fmt.Sprintf("write %s, or declare the format that the rows have", p.format.Layout()),
		}
	}
	values := make([]float64, len(fields))
	for i, field := range fields {
		value, err := strconv.ParseFloat(field, 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, &Fault{
				Problem: fmt.Sprintf("field %d is %q, not a finite number", i+1, field),
				Remedy:  "write " + p.format.Layout(),
			}
		}
		values[i] = value
	}
	return values, nil
}

func (p rowParser) instance(values []float64) (int, instance, *Fault) {
	// Exporters that print through an array of numbers write class 3 as 3.0.
	class := values[0]
	if class != math.Trunc(class) || class < 0 || class >= float64(p.classes) {
		return 0, instance{}, &Fault{
			Problem: fmt.Sprintf("class %v is outside 0..%d", class, p.classes-1),
			Remedy:  "correct the row, or add the class to names in data.yaml",
		}
	}
	found, problem := p.format.instance(values[1:], p.width, p.height)
	if problem != "" {
		return 0, instance{}, &Fault{Problem: problem, Remedy: "write coordinates divided by the image's width and height"}
	}
	return int(class), found, nil
}
