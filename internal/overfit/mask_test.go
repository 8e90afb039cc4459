package overfit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
	"github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// maskIoU is the mean over all instances of the best overlap that the mask of a
// detection of their class has with theirs, 0 without any. Masks are compared on
// the prototype grid, where both come from (YOLO26 specification, training section
// 9): on the image, the half cell between the rule of the targets and the centres
// of the cells would be counted as well.
func maskIoU(t *testing.T, r run.Request, weights string) float64 {
	t.Helper()
	f := resumed(t, r, weights)
	sum, instances := 0.0, 0
	for batch, err := range masked(t, r.DataFile).Stream(context.Background(), data.Position{}, 1) {
		require.NoError(t, err)
		outputs, err := f.Learner().Evaluate(replay.Images(batch.Images, batch.N, batch.H, batch.W))
		require.NoError(t, err)
		prototypes, err := decode.NewPrototypes(outputs["prototypes"], batch.N, batch.H, batch.W)
		require.NoError(t, err)
		decoded, err := decode.Branch[float32]{Class: outputs["o2o_cls"], Box: outputs["o2o_box"], Coefficient: outputs["o2o_coeff"]}.
			Images(objective.Size{Batch: batch.N, Height: batch.H, Width: batch.W, Classes: r.Settings.Model.Classes})
		require.NoError(t, err)
		for i, image := range decoded {
			best := make([]float64, batch.Targets[i].Len())
			for _, row := range image.TopK(decode.DefaultTopK()) {
				if row.Score < detected {
					break
				}
				found, err := prototypes[i].GridMask(image.Coefficients(row.Anchor), row.Box)
				require.NoError(t, err)
				for object, class := range batch.Targets[i].Labels {
					if class == row.Class {
						best[object] = max(best[object], overlap(t, found, batch.Masks[i][object]))
					}
				}
			}
			for _, v := range best {
				sum, instances = sum+v, instances+1
			}
		}
	}
	require.NoError(t, f.Close())
	return sum / float64(instances)
}

// resumed is a fit that stands where a checkpoint was written.
func resumed(t *testing.T, r run.Request, weights string) *trainer.Fit[float32] {
	t.Helper()
	var plans []*ir.Stage
	for _, load := range r.Network.Plans {
		plan, err := load()
		require.NoError(t, err)
		plans = append(plans, plan)
	}
	task, err := catalog.Task[float32](r.Settings, plans)
	require.NoError(t, err)
	options := trainer.OptionsOf(r.Settings)
	options.Dir, options.Resume = "", weights
	f, err := trainer.New(host.Open(host.Options{}), task, trainer.Data{Train: masked(t, r.DataFile)}, options)
	require.NoError(t, err)
	return f
}

// masked loads the scenes in order, with the masks of their instances.
func masked(t *testing.T, dataFile string) *data.Loader {
	t.Helper()
	described, err := data.ReadConfig(dataFile)
	require.NoError(t, err)
	format, err := described.Rows("segment")
	require.NoError(t, err)
	set, err := data.Open(context.Background(), described, "train", data.Options{Format: format})
	require.NoError(t, err)
	loader, err := data.NewLoader(set, data.ValidationPipeline(imageSize), data.LoaderOptions{
		BatchSize: batchSize, Width: imageSize, Height: imageSize, Workers: 1, Masks: true,
	})
	require.NoError(t, err)
	return loader
}

func overlap(t *testing.T, a, b *mask.Bitmap) float64 {
	t.Helper()
	common, err := a.Intersection(b)
	require.NoError(t, err)
	return float64(common) / float64(max(a.Area()+b.Area()-common, 1))
}
