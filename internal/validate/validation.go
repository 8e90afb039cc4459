package validate

import (
	"context"
	"fmt"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/predict"
)

// validation is a run of a model over a data set.
type validation struct {
	model   *predict.Model
	dataset *data.Dataset
	judges  [2]*judge // by decode path
	whole   *wholeImages
}

func newValidation(model *predict.Model, dataset *data.Dataset) (*validation, error) {
	v := &validation{model: model, dataset: dataset}
	settings := model.Settings
	for path := range v.judges {
		var err error
		if v.judges[path], err = newJudge(settings.Task, settings.Model.Classes, settings.Model.Keypoints); err != nil {
			return nil, err
		}
	}
	if settings.Task != "obb" {
		return v, nil
	}
	var err error
	v.whole, err = newWholeImages(dataset)
	return v, err
}

// images judges every image end to end and with suppression.
func (v *validation) images(ctx context.Context) error {
	for i, item := range v.dataset.Items {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		native, err := v.dataset.Native(i)
		if err != nil {
			return err
		}
		if err := v.image(i, native.Raster); err != nil {
			return fmt.Errorf("%s: %w", item.Image, err)
		}
	}
	return nil
}

func (v *validation) image(i int, raster *data.Raster) error {
	item := v.dataset.Items[i]
	objects, err := objectsOf(item, v.model.Settings.Task)
	if err != nil {
		return err
	}
	pass, err := v.model.Forward(raster)
	if err != nil {
		return err
	}
	for path, decode := range [2]func(float64) ([]predict.Instance, error){pass.EndToEnd, pass.Suppressed} {
		found, err := decode(0)
		if err != nil {
			return err
		}
		if err := v.judges[path].add(found, objects); err != nil {
			return err
		}
		if v.whole != nil {
			rows, truth := rotatedOf(found, objects)
			if err := v.whole.add(path, i, item, rows, truth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *validation) report(split string) (*Report, error) {
	r := &Report{
		Task: v.model.Settings.Task, Split: split, Images: v.dataset.Len(), Instances: v.dataset.Instances(), Notes: v.notes(),
	}
	if r.Task != "obb" {
		r.Crowds = v.dataset.Crowds
	}
	for path, name := range pathNames {
		found, err := pathOf(name, v.judges[path], v.dataset.Names)
		if err != nil {
			return nil, err
		}
		r.Paths = append(r.Paths, found)
	}
	var err error
	r.Whole, err = v.whole.report(v.dataset.Names)
	return r, err
}

// notes say what keeps the figures of COCO annotations from being those of the
// published protocol.
func (v *validation) notes() []string {
	var notes []string
	if v.model.Settings.Task == "obb" || v.dataset.Categories == nil {
		return nil
	}
	withoutArea, tiled := 0, false
	for _, item := range v.dataset.Items {
		tiled = tiled || item.SourceImage != ""
		for _, annotated := range item.Annotated {
			if annotated.Area == nil {
				withoutArea++
			}
		}
	}
	if withoutArea > 0 {
		notes = append(notes, fmt.Sprintf("%d annotations have no area; that of the box, the mask or the labelled keypoints stands in", withoutArea))
	}
	if v.dataset.Unusable > 0 {
		notes = append(notes, fmt.Sprintf("%d annotations have no mask and are left out", v.dataset.Unusable))
	}
	if tiled {
		notes = append(notes, "the images are tiles and judged one by one; whole images are put together for the task obb only")
	}
	return notes
}

func pathOf(name string, j *judge, names []string) (Path, error) {
	path := Path{Name: name, title: name, Confusion: j.confusion.Counts()}
	for _, figure := range j.figures() {
		path.Figures = append(path.Figures, Figure(figure))
	}
	for class, className := range names {
		average, at50, objects, err := j.classed().ClassPrecision(class)
		if err != nil {
			return Path{}, err
		}
		shapes, err := j.shapes(class)
		if err != nil {
			return Path{}, err
		}
		path.Classes = append(path.Classes, Class{className, objects, average, at50, shapes})
		points, err := j.classed().Curve(class, 0)
		if err != nil {
			return Path{}, err
		}
		if objects > 0 {
			path.curves = append(path.curves, curve{name: className, points: points})
		}
	}
	return path, nil
}
