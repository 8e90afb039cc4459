package contract_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// samplesKey names the environment variable that holds the folder of the public
// samples coco8, coco8-pose, coco8-seg and dota8.
const samplesKey = "REPRISE_SAMPLES"

// sampleEpochs is the length of the fits on samples, each of which sees all four
// training images in every epoch.
const sampleEpochs = 30

// sample is a data set, how it is trained on, and which columns of the losses must
// fall by 30 %.
type sample struct {
	task, name         string
	classes, keypoints int
	batch              int
	plain              bool // images as they are
	falls              []string
}

// samples are in batches of two with all augmentation, and their loss falls. Pose
// has one class and few objects: its loss begins low, because the box terms carry
// the overlap as a weight and its sum is floored at 1, and rises while boxes and
// classes become better, and a likelihood has no zero to fall to. So its classes
// are looked at, over as many steps as four images give, without augmentation.
var samples = []sample{
	{"detect", "coco8", 80, 0, 2, false, []string{"loss"}},
	{"pose", "coco8-pose", 1, 17, 1, true, []string{"o2m_cls", "o2o_cls"}},
	{"segment", "coco8-seg", 80, 0, 2, false, []string{"loss"}},
	{"obb", "dota8", 15, 0, 2, false, []string{"loss"}},
}

// settings are the task's own recipe at test scale. So few steps leave no room for
// a warm-up and a decay, so the rate is constant.
func (s sample) settings(t *testing.T) *config.Settings {
	t.Helper()
	out, err := config.Defaults(s.task)
	require.NoError(t, err)
	out.Model.Scale, out.Model.Classes, out.Model.Keypoints = "t", s.classes, s.keypoints
	out.Data.ImgSize, out.Data.BatchSize, out.Trainer.MaxEpochs = 256, s.batch, sampleEpochs
	out.Optim.LRF, out.Optim.WarmupEpochs = 1, 0
	if s.plain {
		out.Data.Augmentation = config.Augmentation{}
	}
	return out
}

// Invariants I1 and I9 on real images at test scale: mosaics, affine changes,
// colours and flips, averaging and a validation after each of 30 epochs included,
// the fit in every way leaves the same checkpoint, losses and figures byte for
// byte, and it learns. It takes about ten minutes of two cores.
func TestSamplesInEveryWay(t *testing.T) {
	folder := os.Getenv(samplesKey)
	if folder == "" {
		t.Skipf("%s is not set; give the folder that holds coco8, coco8-pose, coco8-seg and dota8", samplesKey)
	}
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			summary, files := folderFit{
				file:     filepath.Join(folder, s.name, s.name+".yaml"),
				settings: func() *config.Settings { return s.settings(t) },
				steps:    sampleEpochs * 4 / s.batch,
			}.inEveryWay(t)
			t.Logf("loss per epoch %.3f -> %.3f; validation %v", summary.FirstEpochLoss, summary.LastEpochLoss, summary.Validation)
			for _, column := range s.falls {
				first, last := ends(t, files[trainer.LossesName], column, 4/s.batch)
				t.Logf("%s %.3f -> %.3f, %.1f %% lower", column, first, last, 100*(1-last/first))
				require.LessOrEqual(t, last, 0.7*first, column)
			}
		})
	}
}

// ends gives the means of a column of the losses over the first and the last epoch.
func ends(t *testing.T, table []byte, column string, batches int) (first, last float64) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	require.NoError(t, err)
	at := slices.Index(rows[0], column)
	require.Positive(t, at, column)
	require.Len(t, rows, 1+sampleEpochs*batches)
	for i := range batches {
		for row, sum := range map[int]*float64{1 + i: &first, len(rows) - 1 - i: &last} {
			value, err := strconv.ParseFloat(rows[row][at], 64)
			require.NoError(t, err)
			*sum += value / float64(batches)
		}
	}
	return first, last
}
