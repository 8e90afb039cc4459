package survey

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-ml/reprise/internal/data"
)

// TileRequest says what to cut and where the tiles go.
type TileRequest struct {
	Path   string // data.yaml or a root, with oriented labels
	Dir    string // new or empty
	Tiling data.Tiling
}

// TileSummary counts what was written.
type TileSummary struct {
	Images, Tiles, Instances, Difficult int
}

// tiledFile is the annotation file of a tiled split: COCO instances whose ring
// has the four corners of a box, with where every tile was cut.
type tiledFile struct {
	Images      []tiledImage      `json:"images"`
	Annotations []tiledAnnotation `json:"annotations"`
	Categories  []tiledCategory   `json:"categories"`
}

type tiledImage struct {
	ID          int    `json:"id"`
	FileName    string `json:"file_name"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	SourceImage string `json:"source_image"`
	Window      [4]int `json:"window"`
}

type tiledAnnotation struct {
	ID         int          `json:"id"`
	ImageID    int          `json:"image_id"`
	CategoryID int          `json:"category_id"`
	Box        [4]float64   `json:"bbox"`
	Area       float64      `json:"area"`
	Ring       [][8]float64 `json:"segmentation"`
	Crowd      int          `json:"iscrowd"`
	Difficult  int          `json:"difficult"`
	Visible    float64      `json:"visible_fraction"`
}

type tiledCategory struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Tile cuts the images of every split into overlapping windows and writes them as
// a COCO data set: PNG tiles under images/{split} and
// annotations/instances_{split}.json. Tiles without instances are kept. Ids
// follow the order of the source, so the files do not depend on timing (data and
// evaluation specification, section 3). After an error nothing of it is left.
func Tile(ctx context.Context, r TileRequest) (*TileSummary, error) {
	if err := r.Tiling.Validate(); err != nil {
		return nil, err
	}
	config, err := data.ReadConfig(r.Path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(r.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; give a directory that can be written", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty; give a new directory", r.Dir)
	}
	summary, made := &TileSummary{}, err != nil
	if err := r.tile(ctx, config, summary); err != nil {
		return nil, errors.Join(err, r.remove(made))
	}
	return summary, nil
}

// remove takes away what was written to a directory that was empty, and the
// directory where it was made for that.
func (r TileRequest) remove(made bool) error {
	err := errors.Join(os.RemoveAll(filepath.Join(r.Dir, "images")), os.RemoveAll(filepath.Join(r.Dir, "annotations")))
	if !made {
		return err
	}
	if failed := os.Remove(r.Dir); !errors.Is(failed, fs.ErrNotExist) {
		err = errors.Join(err, failed)
	}
	return err
}

func (r TileRequest) tile(ctx context.Context, config *data.Config, summary *TileSummary) error {
	for _, split := range []string{"train", "val", "test"} {
		if !config.Has(split) {
			continue
		}
		dataset, err := data.Open(ctx, config, split, data.Options{Format: data.OrientedRows})
		if err != nil {
			return err
		}
		if err := r.tileSplit(ctx, dataset, split, summary); err != nil {
			return err
		}
	}
	return nil
}

func (r TileRequest) tileSplit(ctx context.Context, dataset *data.Dataset, split string, summary *TileSummary) error {
	directory := filepath.Join(r.Dir, "images", split)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("%w; give a directory that can be written", err)
	}
	file := tiledFile{Images: []tiledImage{}, Annotations: []tiledAnnotation{}}
	for i, name := range dataset.Names {
		file.Categories = append(file.Categories, tiledCategory{i + 1, name})
	}
	names := map[string]bool{}
	for i := range dataset.Items {
		// One large image is in memory at a time.
		native, err := dataset.Native(i)
		if err != nil {
			return err
		}
		base := filepath.Base(dataset.Items[i].Image)
		first := len(file.Images)
		windows := r.Tiling.Windows(native.Raster.Width, native.Raster.Height)
		for _, window := range windows {
			file.addTile(base, window, native.Target)
		}
		added := file.Images[first:]
		for _, tile := range added {
			if names[tile.FileName] {
				return fmt.Errorf("%s: a second image of this name; rename one", dataset.Items[i].Image)
			}
			names[tile.FileName] = true
		}
		if err := writeTiles(ctx, directory, native.Raster, windows, added); err != nil {
			return err
		}
	}
	summary.Images += len(dataset.Items)
	summary.Tiles += len(file.Images)
	summary.Instances += len(file.Annotations)
	for _, annotation := range file.Annotations {
		summary.Difficult += annotation.Difficult
	}
	return file.write(filepath.Join(r.Dir, "annotations", "instances_"+split+".json"))
}

// addTile adds the record of a window and its instances.
func (f *tiledFile) addTile(source string, window image.Rectangle, target data.Target) {
	stem := strings.TrimSuffix(source, filepath.Ext(source))
	record := tiledImage{
		ID: len(f.Images) + 1, FileName: fmt.Sprintf("%s__%d_%d.png", stem, window.Min.X, window.Min.Y),
		Width: window.Dx(), Height: window.Dy(), SourceImage: source,
		Window: [4]int{window.Min.X, window.Min.Y, window.Max.X, window.Max.Y},
	}
	f.Images = append(f.Images, record)
	tile, visible := data.TileTarget(target, window)
	for i, label := range tile.Labels {
		box, rotated := tile.Boxes[i], tile.Rotated[i]
		annotation := tiledAnnotation{
			ID: len(f.Annotations) + 1, ImageID: record.ID, CategoryID: label + 1,
			Box: [4]float64{box.X1, box.Y1, box.Width(), box.Height()}, Area: rotated.Width * rotated.Height,
			Ring: make([][8]float64, 1), Visible: visible[i],
		}
		for n, corner := range rotated.Corners() {
			annotation.Ring[0][2*n], annotation.Ring[0][2*n+1] = corner.X, corner.Y
		}
		if tile.Difficult[i] {
			annotation.Difficult = 1
		}
		f.Annotations = append(f.Annotations, annotation)
	}
}

func writeTiles(ctx context.Context, directory string, raster *data.Raster, windows []image.Rectangle, records []tiledImage) error {
	whole := raster.Standard()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, window := range windows {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var encoded bytes.Buffer
			if err := png.Encode(&encoded, whole.SubImage(window)); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(directory, records[i].FileName), encoded.Bytes(), 0o644); err != nil {
				return fmt.Errorf("%w; make room on the disk", err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (f *tiledFile) write(path string) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("%w; give a directory that can be written", err)
	}
	return renameio.WriteFile(path, text, 0o644)
}
