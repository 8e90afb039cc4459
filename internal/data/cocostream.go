package data

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
)

// cocoImage is an entry of the images list of a COCO file.
type cocoImage struct {
	ID       int64  `json:"id"`
	FileName string `json:"file_name"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`

	// SourceImage and Window are written by the tiling of large images.
	SourceImage string `json:"source_image"`
	Window      []int  `json:"window"`
}

// cocoCategory is an entry of the categories list.
type cocoCategory struct {
	ID        int64    `json:"id"`
	Name      string   `json:"name"`
	Keypoints []string `json:"keypoints"`
	Skeleton  [][]int  `json:"skeleton"` // pairs that count from 1
}

// cocoAnnotation is an entry of the annotations list. Its lists are read in full
// but kept only as far as the label format needs them.
type cocoAnnotation struct {
	ID           int64           `json:"id"`
	ImageID      int64           `json:"image_id"`
	CategoryID   int64           `json:"category_id"`
	Box          []float64       `json:"bbox"`
	Crowd        int             `json:"iscrowd"`
	Difficult    int             `json:"difficult"`
	Segmentation json.RawMessage `json:"segmentation"`
	Keypoints    []float64       `json:"keypoints"`

	// Area and Labelled are read for evaluation only.
	Area     *float64 `json:"area"`
	Labelled *int     `json:"num_keypoints"`
}

// cocoVisitor receives the entries of a COCO file one by one, each with the
// offset in bytes at which it ends. Lists without a function are passed over.
type cocoVisitor struct {
	image      func(cocoImage, int64)
	category   func(cocoCategory, int64)
	annotation func(cocoAnnotation, int64)
}

// visitCOCO streams a COCO file: one entry is in memory at a time, so a file of
// several hundred megabytes needs no more memory than a small one.
func visitCOCO(file string, visitor cocoVisitor) error {
	opened, err := os.Open(file)
	if err != nil {
		return faultsOrNil([]Fault{{File: file, Problem: err.Error(), Remedy: "give a COCO annotation file that can be read"}})
	}
	defer opened.Close()
	decoder := json.NewDecoder(bufio.NewReaderSize(opened, 1<<18))
	if err := visitTop(decoder, visitor); err != nil {
		return faultsOrNil([]Fault{cocoSyntax(file, decoder.InputOffset(), err)})
	}
	return nil
}

// errNotCOCO marks JSON of another shape.
var errNotCOCO = errors.New("not a COCO annotation file")

func visitTop(decoder *json.Decoder, visitor cocoVisitor) error {
	if err := expect(decoder, json.Delim('{')); err != nil {
		return err
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		switch {
		case token == "images" && visitor.image != nil:
			err = visitList(decoder, visitor.image)
		case token == "categories" && visitor.category != nil:
			err = visitList(decoder, visitor.category)
		case token == "annotations" && visitor.annotation != nil:
			err = visitList(decoder, visitor.annotation)
		default:
			err = skipValue(decoder)
		}
		if err != nil {
			return err
		}
	}
	return expect(decoder, json.Delim('}'))
}

func expect(decoder *json.Decoder, want json.Delim) error {
	token, err := decoder.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%w: %v where %v is expected", errNotCOCO, token, want)
	}
	return err
}

func visitList[E any](decoder *json.Decoder, visit func(E, int64)) error {
	if err := expect(decoder, json.Delim('[')); err != nil {
		return err
	}
	for decoder.More() {
		var entry E
		if err := decoder.Decode(&entry); err != nil {
			return err
		}
		visit(entry, decoder.InputOffset())
	}
	return expect(decoder, json.Delim(']'))
}

// skipValue passes over a value token by token, however large it is.
func skipValue(decoder *json.Decoder) error {
	depth := 0
	for {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func cocoSyntax(file string, offset int64, err error) Fault {
	fault := Fault{File: file, Problem: err.Error(), Remedy: "give a COCO annotation file with the lists images, annotations and categories"}
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		fault.Problem, fault.Remedy = "the file is cut short", "copy it again"
	case errors.As(err, &syntax):
		offset, fault.Problem, fault.Remedy = syntax.Offset, "not JSON: "+err.Error(), "correct the JSON syntax"
	case errors.As(err, &wrong):
		fault.Problem = fmt.Sprintf("%s is a JSON %s of the wrong kind", wrong.Field, wrong.Value)
	}
	fault.Line = linesAt(file, []int64{offset})[0]
	return fault
}

// linesAt are the 1-based lines of byte offsets, found by reading the file once
// more: faults are rare, and keeping the lines of all entries is not cheap. The
// lines are 0 when the file can no longer be read.
func linesAt(file string, offsets []int64) []int {
	lines := make([]int, len(offsets))
	order := make([]int, len(offsets))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return offsets[order[a]] < offsets[order[b]] })
	opened, err := os.Open(file)
	if err != nil {
		return lines
	}
	defer opened.Close()
	reader := bufio.NewReaderSize(opened, 1<<16)
	line, position := 1, int64(0)
	for _, i := range order {
		for position < offsets[i] {
			b, err := reader.ReadByte()
			if err != nil {
				break
			}
			position++
			// The offset is the end of an entry; a line that ends with it is its own.
			if b == '\n' && position < offsets[i] {
				line++
			}
		}
		lines[i] = line
	}
	return lines
}
