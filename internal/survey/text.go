package survey

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// barWidth is the length of the longest bar of a histogram in characters.
const barWidth = 40

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteText writes the report for people: every fault, then counts and
// histograms of every split. Classes without instances are only counted.
func (r *Report) WriteText(w io.Writer) error {
	var text bytes.Buffer
	how := ""
	if r.Suggested {
		how = ", judged by the labels"
	}
	fmt.Fprintf(&text, "%s: labels for %s%s\n", r.File, r.Task, how)
	for _, split := range r.Splits {
		split.write(&text)
	}
	fmt.Fprintf(&text, "\n%s\n", plural(r.Faults, "fault"))
	_, err := w.Write(text.Bytes())
	return err
}

func (s *Split) write(text *bytes.Buffer) {
	fmt.Fprintf(text, "\n%s: %s, %s, %s without instances\n", s.Name, plural(s.Images, "image"), plural(s.Instances, "instance"), plural(s.Backgrounds, "image"))
	for _, more := range []Count{
		{"repeated rows dropped", s.Duplicates}, {"difficult instances", s.Difficult},
		{"crowd regions left out", s.Crowds}, {"instances without a usable outline left out", s.Unusable},
	} {
		if more.Count > 0 {
			fmt.Fprintf(text, "  %d %s\n", more.Count, more.Name)
		}
	}
	for _, fault := range s.Faults {
		fmt.Fprintln(text, fault)
	}
	if s.Instances == 0 {
		return
	}
	var present []Count
	for _, class := range s.Classes {
		if class.Count > 0 {
			present = append(present, class)
		}
	}
	histogram(text, "instances by class", present)
	if absent := len(s.Classes) - len(present); absent > 0 {
		fmt.Fprintf(text, "    %s without instances\n", plural(absent, "class"))
	}
	histogram(text, "instances by size, the square root of the area in pixels", s.Sizes)
}

func histogram(text *bytes.Buffer, title string, bars []Count) {
	fmt.Fprintf(text, "  %s\n", title)
	longest, width := 0, 0
	for _, bar := range bars {
		longest, width = max(longest, bar.Count), max(width, len([]rune(bar.Name)))
	}
	for _, bar := range bars {
		length := 0
		if bar.Count > 0 {
			length = max(1, bar.Count*barWidth/longest)
		}
		line := fmt.Sprintf("    %-*s %7d %s", width, bar.Name, bar.Count, strings.Repeat("#", length))
		fmt.Fprintln(text, strings.TrimRight(line, " "))
	}
}

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		return fmt.Sprintf("%d %ses", count, noun)
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
