package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

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
	if r.Crowds > 0 {
		fmt.Fprintf(&text, "%d crowd regions, which excuse detections\n", r.Crowds)
	}
	for _, path := range r.Paths {
		path.write(&text)
	}
	if r.Whole != nil {
		r.Whole.write(&text)
	}
	_, err := w.Write(text.Bytes())
	return err
}

func (w *Whole) write(text *bytes.Buffer) {
	fmt.Fprintf(text, "\nput together from these tiles: %d whole images, %d instances\n", w.Images, w.Instances)
	for _, left := range w.LeftOut {
		fmt.Fprintf(text, "left out: %s\n", left)
	}
	for _, path := range w.Paths {
		path.write(text)
	}
}

func (p *Path) write(text *bytes.Buffer) {
	fmt.Fprintf(text, "\n%s\n", map[string]string{"e2e": "end to end (e2e)", "nms": "with suppression (nms)"}[p.Name])
	for _, figure := range p.Figures {
		fmt.Fprintf(text, "  %-12s %s\n", figure.Name, share(figure.Value))
	}
	width := len("class")
	for _, class := range p.Classes {
		width = max(width, len([]rune(class.Name)))
	}
	for i, class := range p.Classes {
		if i == 0 {
			fmt.Fprintf(text, "  %-*s %9s %7s %7s", width, "class", "instances", "ap", "ap50")
			for _, shape := range class.Shapes {
				fmt.Fprintf(text, " %9s", shape.Name)
			}
			text.WriteByte('\n')
		}
		if class.Instances == 0 {
			continue
		}
		fmt.Fprintf(text, "  %-*s %9d %7s %7s", width, class.Name, class.Instances, share(class.AP), share(class.AP50))
		for _, shape := range class.Shapes {
			fmt.Fprintf(text, " %9s", share(shape.Value))
		}
		text.WriteByte('\n')
	}
}

// share is a figure with four digits; one without ground truth is a dash.
func share(value float64) string {
	if value < 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", value)
}

// save writes the report and the plots of all paths.
func (r *Report) save(directory string) error {
	var text bytes.Buffer
	if err := r.WriteJSON(&text); err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(directory, ReportName), text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%w; give a directory that can be written", err)
	}
	for _, path := range r.Paths {
		if err := path.draw(directory, path.Name); err != nil {
			return err
		}
	}
	if r.Whole == nil {
		return nil
	}
	for _, path := range r.Whole.Paths {
		if err := path.draw(directory, "whole-"+path.Name); err != nil {
			return err
		}
	}
	return nil
}

// draw writes the plots of a path under names that begin with prefix.
func (p *Path) draw(directory, prefix string) error {
	if err := p.drawCurves(filepath.Join(directory, prefix+"-precision-recall.png")); err != nil {
		return err
	}
	return p.drawConfusion(filepath.Join(directory, prefix+"-confusion.png"))
}
