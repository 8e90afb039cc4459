package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// ReportName is the file of the report in the directory of a validation.
const ReportName = "validation.json"

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteText writes the report for people: per decode path the statistics and the
// table of classes. Classes without instances are left out.
func (r *Report) WriteText(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s on %s: %d images, %d instances\n", r.Task, r.Split, r.Images, r.Instances)
	for _, note := range r.Notes {
		fmt.Fprintf(&text, "note: %s\n", note)
	}
	for _, path := range r.Paths {
		fmt.Fprintf(&text, "\n%s\n", map[string]string{"e2e": "end to end (e2e)", "nms": "with suppression (nms)"}[path.Name])
		for _, figure := range path.Figures {
			fmt.Fprintf(&text, "  %-12s %s\n", figure.Name, share(figure.Value))
		}
		width := len("class")
		for _, class := range path.Classes {
			width = max(width, len([]rune(class.Name)))
		}
		fmt.Fprintf(&text, "  %-*s %9s %7s %7s\n", width, "class", "instances", "ap", "ap50")
		for _, class := range path.Classes {
			if class.Instances > 0 {
				fmt.Fprintf(&text, "  %-*s %9d %7s %7s\n", width, class.Name, class.Instances, share(class.AP), share(class.AP50))
			}
		}
	}
	_, err := w.Write(text.Bytes())
	return err
}

// share is a figure with four digits; one without ground truth is a dash.
func share(value float64) string {
	if value < 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", value)
}

// save writes the report and the plots of both paths.
func (r *Report) save(directory string) error {
	var text bytes.Buffer
	if err := r.WriteJSON(&text); err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(directory, ReportName), text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%w; give a directory that can be written", err)
	}
	for _, path := range r.Paths {
		name := func(kind string) string {
			return filepath.Join(directory, strings.Join([]string{path.Name, kind}, "-")+".png")
		}
		if err := path.drawCurves(name("precision-recall")); err != nil {
			return err
		}
		if err := path.drawConfusion(name("confusion")); err != nil {
			return err
		}
	}
	return nil
}
