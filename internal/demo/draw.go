package demo

import (
	"context"
	"fmt"
	"image"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/picture"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/replay"
	objective "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// best is how many predictions are drawn on a scene. After so few steps scores
// are low, so they are not judged by a fixed bound.
const best = 4

// draw evaluates the network on scenes that it has not seen and draws, for
// each, the labels beside the predictions.
func draw(ctx context.Context, f *trainer.Fit[float32], loader *data.Loader, file string) error {
	var tiles []picture.Tile
	for batch, err := range loader.Stream(ctx, data.Position{}, 1) {
		if err != nil {
			return err
		}
		outputs, err := f.Learner().Evaluate(replay.Images(batch.Images, batch.N, batch.H, batch.W))
		if err != nil {
			return err
		}
		branch := decode.Branch[float32]{Class: outputs["o2m_cls"], Box: outputs["o2m_box"], Angle: outputs["o2m_angle"]}
		images, err := branch.Images(objective.Size{Batch: batch.N, Height: batch.H, Width: batch.W, Classes: len(scenes.Classes)})
		if err != nil {
			return err
		}
		for i := range images {
			pair, err := pairOf(batch, i, images[i])
			if err != nil {
				return err
			}
			tiles = append(tiles, pair...)
		}
	}
	sheet, err := picture.Sheet(tiles, 2, 2*imageSize)
	if err != nil {
		return err
	}
	return picture.WritePNG(file, sheet)
}

// pairOf draws the labels and the predictions of one scene.
func pairOf(batch *data.Batch, i int, outputs decode.Image[float32]) ([]picture.Tile, error) {
	base := enlarge(batch, i)
	var labels, predictions []picture.Annotation
	for k, box := range batch.Targets[i].Rotated {
		box.CenterX, box.CenterY, box.Width, box.Height = 2*box.CenterX, 2*box.CenterY, 2*box.Width, 2*box.Height
		class := batch.Targets[i].Labels[k]
		labels = append(labels, picture.FromRotated(box, class, scenes.Classes[class]))
	}
	found, err := outputs.SuppressedRotated(decode.Suppression{Score: 0.01, IoU: 0.3, Limit: best})
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		box := d.Box
		box.CenterX, box.CenterY, box.Width, box.Height = 2*box.CenterX, 2*box.CenterY, 2*box.Width, 2*box.Height
		predictions = append(predictions, picture.FromRotated(box, d.Class, picture.Label(scenes.Classes[d.Class], d.Score)))
	}
	var tiles []picture.Tile
	for _, side := range []struct {
		caption     string
		annotations []picture.Annotation
	}{{"labels", labels}, {fmt.Sprintf("best %d predictions", best), predictions}} {
		drawn, err := picture.Annotate(base, side.annotations)
		if err != nil {
			return nil, err
		}
		tiles = append(tiles, picture.Tile{Image: drawn, Caption: side.caption})
	}
	return tiles, nil
}

// enlarge makes a picture of image i of a batch at twice its size.
func enlarge(batch *data.Batch, i int) image.Image {
	out := image.NewRGBA(image.Rect(0, 0, 2*batch.W, 2*batch.H))
	pixels := batch.Images[i*batch.H*batch.W*3:]
	for y := range 2 * batch.H {
		for x := range 2 * batch.W {
			from := (y/2*batch.W + x/2) * 3
			to := out.PixOffset(x, y)
			copy(out.Pix[to:to+3], pixels[from:from+3])
			out.Pix[to+3] = 255
		}
	}
	return out
}
