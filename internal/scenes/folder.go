package scenes

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folder is how many scenes each split of a data set folder holds.
type Folder struct {
	Train, Val int
}

// WriteOriented draws scenes and writes them as a YOLO oriented data set: PNG
// pictures under images/train and images/val, label rows of nine fields (class
// and four normalised corners) under labels, and data.yaml. The directory must
// be new or empty, because files of another set would be read as part of this
// one.
func WriteOriented(directory string, folder Folder, options Options) error {
	return write(directory, folder, options, orientedRow, "")
}

// WriteDetect writes a YOLO data set as WriteOriented does, with rows of five
// fields: class and the box of what is visible, cx cy w h.
func WriteDetect(directory string, folder Folder, options Options) error {
	return write(directory, folder, options, detectRow, "")
}

// WriteSegment writes a YOLO data set as WriteOriented does, with rows of class
// and outline.
func WriteSegment(directory string, folder Folder, options Options) error {
	return write(directory, folder, options, segmentRow, "")
}

// WritePose writes a YOLO data set as WriteOriented does, of planes alone, with
// rows of class, box and the keypoints of KeypointNames as x y v; one outside
// the picture is not labelled.
func WritePose(directory string, folder Folder, options Options) error {
	options.PlanesOnly = true
	return write(directory, folder, options, poseRow, poseKeys())
}

// rowOf is the label row of an object on a picture of side pixels.
type rowOf func(object Object, side float64) string

// write draws the scenes of both splits; keys are further keys of data.yaml.
func write(directory string, folder Folder, options Options, row rowOf, keys string) error {
	if folder.Train < 1 || folder.Val < 1 {
		return fmt.Errorf("scenes: %d train and %d val pictures; give at least 1 of each", folder.Train, folder.Val)
	}
	if err := options.validate(); err != nil {
		return err
	}
	entries, err := os.ReadDir(directory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("scenes: %w; give a directory that can be written", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("scenes: %s is not empty; give a new directory", directory)
	}
	index := 0
	for _, split := range []struct {
		name  string
		count int
	}{{"train", folder.Train}, {"val", folder.Val}} {
		for range split.count {
			if err := writeScene(directory, split.name, index, options, row); err != nil {
				return err
			}
			index++
		}
	}
	return writeText(filepath.Join(directory, "data.yaml"), config(Classes[:options.classes()])+keys)
}

func writeScene(directory, split string, index int, options Options, row rowOf) error {
	scene, err := Draw(options, index)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, scene.Image); err != nil {
		return fmt.Errorf("scenes: picture %d: %w", index, err)
	}
	name := fmt.Sprintf("scene%05d", index)
	if err := writeText(filepath.Join(directory, "images", split, name+".png"), picture.String()); err != nil {
		return err
	}
	var rows strings.Builder
	for _, object := range scene.Objects {
		rows.WriteString(row(object, float64(options.Size)))
		rows.WriteByte('\n')
	}
	return writeText(filepath.Join(directory, "labels", split, name+".txt"), rows.String())
}

func config(names []string) string {
	var text strings.Builder
	text.WriteString("path:\ntrain: images/train\nval: images/val\n\nnames:\n")
	for class, name := range names {
		fmt.Fprintf(&text, "  %d: %s\n", class, name)
	}
	return text.String()
}

func writeText(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("scenes: %w; give a directory that can be written", err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("scenes: %w; give a directory that can be written", err)
	}
	return nil
}
