package data

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// DOTAClasses are the class names of DOTA 1.0 by dense class index, as
// normalised by ParseLabelTxt (DOTA, arXiv:1711.10398).
var DOTAClasses = []string{
	"plane", "ship", "storage tank", "baseball diamond", "tennis court", "basketball court", "ground track field",
	"harbor", "bridge", "large vehicle", "small vehicle", "helicopter", "roundabout", "soccer ball field", "swimming pool",
}

// labelTxtHeader is a line of metadata before the objects, such as
// 'imagesource':GoogleEarth or gsd:0.146.
var labelTxtHeader = regexp.MustCompile(`^['"]?[A-Za-z ]+['"]?:`)

// ParseLabelTxt reads the text of a DOTA label file: after lines of metadata,
// eight coordinates in pixels, the category and a difficult flag on every line.
// The category is compared in lower case with - and _ as spaces. Boxes are the
// unclipped envelopes of the quadrilaterals and rotated boxes the fit to them;
// difficult objects are kept and flagged (data and evaluation specification,
// section 2.4). All faults of the file are returned.
func ParseLabelTxt(file string, text []byte, names []string) (Target, []Fault) {
	labels := map[string]int{}
	for i, name := range names {
		labels[categoryKey(name)] = i
	}
	var target Target
	var faults []Fault
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for i, row := range strings.Split(string(text), "\n") {
		row = strings.TrimSpace(row)
		if row == "" || labelTxtHeader.MatchString(row) {
			continue
		}
		problem, remedy := target.addLabelTxt(strings.Fields(row), labels)
		if problem != "" {
			faults = append(faults, Fault{File: file, Line: i + 1, Problem: problem, Remedy: remedy})
		}
	}
	return target, faults
}

func (t *Target) addLabelTxt(fields []string, labels map[string]int) (problem, remedy string) {
	const layout = "write x1 y1 x2 y2 x3 y3 x4 y4 category difficult"
	if len(fields) != 10 {
		return fmt.Sprintf("%d fields where an object has 10", len(fields)), layout
	}
	var corners [4]geometry.Point
	for i := range 8 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Sprintf("field %d is %q, not a finite number", i+1, fields[i]), layout
		}
		if i%2 == 0 {
			corners[i/2].X = value
		} else {
			corners[i/2].Y = value
		}
	}
	label, ok := labels[categoryKey(fields[8])]
	if !ok {
		return fmt.Sprintf("category %q is not one of the classes", fields[8]), "correct it, or declare the class in names"
	}
	if fields[9] != "0" && fields[9] != "1" {
		return fmt.Sprintf("difficult is %q", fields[9]), "write 0 or 1"
	}
	rotated := geometry.FitQuadrilateral(corners)
	t.add(label, instance{box: geometry.Envelope(corners[:]), rotated: &rotated})
	t.Difficult = append(t.Difficult, fields[9] == "1")
	return "", ""
}

// categoryKey is a category in the form in which categories are compared.
func categoryKey(name string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(name))), " ")
}
