package predict

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/picture"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Request says what to predict.
type Request struct {
	Weights   string  // checkpoint
	Source    string  // image or directory of images
	Dir       string  // receives a picture of every image
	Threshold float64 // lowest score shown
	Raw       bool    // weights as trained instead of their average
}

// Result is what was found on one image, for programs. Lengths are pixels of the
// image.
type Result struct {
	Image     string  `json:"image"`
	Picture   string  `json:"picture"`
	Width     int     `json:"width"`
	Height    int     `json:"height"`
	Instances []Found `json:"instances"`
}

// Found is an instance for programs.
type Found struct {
	Class int        `json:"class"`
	Name  string     `json:"name"`
	Score float64    `json:"score"`
	Box   [4]float64 `json:"box"` // x1 y1 x2 y2
	// Rotated is centre, width, height and angle in radians.
	Rotated   *[5]float64  `json:"rotated,omitempty"`
	Keypoints [][2]float64 `json:"keypoints,omitempty"`
	// Mask is run-length encoded as COCO does: lengths of runs, down the columns,
	// the first of pixels that are not set.
	Mask *Runs `json:"mask,omitempty"`
}

// Runs is a run-length encoded mask.
type Runs struct {
	Size   [2]int `json:"size"` // height and width
	Counts []int  `json:"counts"`
}

// Run predicts every image of the source, in sorted order, and draws a picture
// of each.
func Run(ctx context.Context, dev device.Device, r Request) (results []Result, err error) {
	if !(r.Threshold >= 0 && r.Threshold <= 1) {
		return nil, fmt.Errorf("-conf is %v; give a score from 0 to 1", r.Threshold)
	}
	images, err := imagesOf(r.Source)
	if err != nil {
		return nil, err
	}
	model, err := Open(dev, r.Weights, r.Raw)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := model.Close(); err == nil {
			err = closed
		}
	}()
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w; give a directory that can be written", err)
	}
	for _, image := range images {
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		result, err := r.one(model, image)
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

func (r Request) one(model *Model, image string) (Result, error) {
	raster, err := data.ReadRaster(image)
	if err != nil {
		return Result{}, err
	}
	instances, err := model.Image(raster, r.Threshold)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", image, err)
	}
	drawn, err := Draw(raster, instances, model.Labels)
	if err != nil {
		return Result{}, err
	}
	// The ending stays in the name: a.jpg and a.png are two images.
	file := filepath.Join(r.Dir, filepath.Base(image)+".png")
	if err := picture.WritePNG(file, drawn); err != nil {
		return Result{}, err
	}
	result := Result{Image: image, Picture: file, Width: raster.Width, Height: raster.Height, Instances: []Found{}}
	for _, instance := range instances {
		result.Instances = append(result.Instances, found(instance, model.Labels.Classes[instance.Class]))
	}
	return result, nil
}

func found(i Instance, name string) Found {
	f := Found{Class: i.Class, Name: name, Score: i.Score, Box: [4]float64{i.Box.X1, i.Box.Y1, i.Box.X2, i.Box.Y2}}
	if i.Rotated != nil {
		f.Rotated = &[5]float64{i.Rotated.CenterX, i.Rotated.CenterY, i.Rotated.Width, i.Rotated.Height, i.Rotated.Angle}
	}
	for _, p := range i.Keypoints {
		f.Keypoints = append(f.Keypoints, [2]float64{p.X, p.Y})
	}
	if i.Mask != nil {
		f.Mask = runsOf(i.Mask)
	}
	return f
}

func runsOf(m *mask.Bitmap) *Runs {
	runs := &Runs{Size: [2]int{m.Height, m.Width}}
	length, set := 0, false
	for x := range m.Width {
		for y := range m.Height {
			if m.At(y, x) != set {
				runs.Counts = append(runs.Counts, length)
				length, set = 0, !set
			}
			length++
		}
	}
	runs.Counts = append(runs.Counts, length)
	return runs
}

// imagesOf are the images of a source: one file, or those of a directory without
// its subdirectories.
func imagesOf(source string) ([]string, error) {
	info, err := os.Stat(source)
	if err != nil {
		return nil, fmt.Errorf("-source: %w; give an image or a directory of images", err)
	}
	if !info.IsDir() {
		return []string{source}, nil
	}
	entries, err := os.ReadDir(source)
	if err != nil {
		return nil, fmt.Errorf("-source: %w; give a directory that can be read", err)
	}
	var images []string
	for _, entry := range entries {
		ending := strings.ToLower(filepath.Ext(entry.Name()))
		if !entry.IsDir() && slices.Contains([]string{".jpg", ".jpeg", ".png"}, ending) {
			images = append(images, filepath.Join(source, entry.Name()))
		}
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("-source: %s has no .jpg, .jpeg or .png files; give an image or a directory of images", source)
	}
	return images, nil
}
