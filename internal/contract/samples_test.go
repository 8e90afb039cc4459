package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
)

// samplesKey names the environment variable that holds the folder of the public
// samples coco8, coco8-pose, coco8-seg and dota8.
const samplesKey = "REPRISE_SAMPLES"

// samples are the data sets with their counts of classes and keypoints.
var samples = []struct {
	task, name         string
	classes, keypoints int
}{
	{"detect", "coco8", 80, 0}, {"pose", "coco8-pose", 1, 17}, {"segment", "coco8-seg", 80, 0}, {"obb", "dota8", 15, 0},
}

// Invariants I1 and I9 on real images at test scale: mosaics, affine changes,
// colours and flips, learning rate, averaging and a validation after each of 30
// epochs included, the fit in every way leaves the same checkpoint, losses and
// figures byte for byte, and it learns: the loss falls by at least 30 %. All four
// training images are in two batches; so few steps leave no room for a warm-up
// and a decay, so the rate is constant. It takes about ten minutes of two cores.
//
// The loss of coco8-pose has not been seen to fall so far (6.1 %), so its test fails.
func TestSamplesInEveryWay(t *testing.T) {
	folder := os.Getenv(samplesKey)
	if folder == "" {
		t.Skipf("%s is not set; give the folder that holds coco8, coco8-pose, coco8-seg and dota8", samplesKey)
	}
	for _, sample := range samples {
		t.Run(sample.name, func(t *testing.T) {
			summary, _ := folderFit{
				file: filepath.Join(folder, sample.name, sample.name+".yaml"),
				settings: func() *config.Settings {
					s, err := config.Defaults(sample.task)
					require.NoError(t, err)
					s.Model.Scale, s.Model.Classes, s.Model.Keypoints = "t", sample.classes, sample.keypoints
					s.Data.ImgSize, s.Data.BatchSize, s.Trainer.MaxEpochs = 256, 2, 30
					s.Optim.LRF, s.Optim.WarmupEpochs = 1, 0
					return s
				},
				steps: 60,
			}.inEveryWay(t)
			t.Logf("loss per epoch %.3f -> %.3f, %.1f %% lower; validation %v", summary.FirstEpochLoss, summary.LastEpochLoss, 100*summary.Fall(), summary.Validation)
			require.GreaterOrEqual(t, summary.Fall(), 0.3)
		})
	}
}
