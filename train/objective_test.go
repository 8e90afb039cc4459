package train_test

import (
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/runtime/replay"
	obb "github.com/reprise-ml/reprise/tasks/obb/objective"
	pose "github.com/reprise-ml/reprise/tasks/pose/objective"
	"github.com/reprise-ml/reprise/train"
)

// qualityFocal is the quality focal loss with exponent 2: the cross-entropy of
// each class times the square of how far its probability p is from the target.
// Its slope, by the logit z, uses dp/dz = p (1 - p).
func qualityFocal(logits, targets, slopes []float64) float64 {
	sum := 0.0
	for c, z := range logits {
		p := 1 / (1 + math.Exp(-z))
		entropy := max(z, 0) - z*targets[c] + math.Log1p(math.Exp(-math.Abs(z)))
		off := p - targets[c]
		sum += off * off * entropy
		slopes[c] = 2*off*p*(1-p)*entropy + off*off*off
	}
	return sum
}

// focal is the oriented-box objective with that loss.
func focal(options obb.Options) (*obb.Objective, error) {
	objective, err := obb.New(options)
	if err != nil {
		return nil, err
	}
	objective.Class = qualityFocal
	return objective, nil
}

// The main function of a trainer with a classification loss of its own. Gains and
// forms are in the options as the settings say.
func ExampleNewObjective() {
	own := network() // task, scale, classes and the plans that were generated
	own.Objective = train.NewObjective(func(options obb.Options) (*obb.Objective, error) {
		objective, err := obb.New(options)
		if err != nil {
			return nil, err
		}
		objective.Class = qualityFocal
		return objective, nil
	})
	train.Main(own)
}

// trained runs a fit of two epochs of two steps on a data folder with another
// objective and gives its summary.
func trained(t *testing.T, folder string, objective train.Objective, more ...string) (run.Summary, string, error) {
	t.Helper()
	own := network()
	own.Objective = objective
	var err error
	text := stdout(t, func() {
		err = train.Run(t.Context(), own, append([]string{
			"-data", folder, "-data.img_size=64", "-data.batch_size=2", "-trainer.max_epochs=2", "-optim.ns_steps=1",
			"-run.dir", filepath.Join(t.TempDir(), "run"),
		}, more...))
	})
	var s run.Summary
	if err == nil && json.Valid(text) {
		require.NoError(t, json.Unmarshal(text, &s))
	}
	return s, string(text), err
}

// scenery draws a data set of four scenes to train on.
func scenery(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	require.NoError(t, scenes.WriteOriented(folder, scenes.Folder{Train: 4, Val: 1}, scenes.Options{Size: 64, Objects: 3, Seed: 5}))
	return folder
}

// Guard G7, field case YO-22: a fit with a loss of the user's own runs natively
// when the network is to be recorded, says so before the first step and in the
// summary, and is byte for byte the fit that was never asked to be recorded. The
// optimizer is recorded all the same.
func TestRunWithAnotherObjective(t *testing.T) {
	folder := scenery(t)
	own := train.NewObjective(focal)
	native, _, err := trained(t, folder, own, "-json")
	require.NoError(t, err)
	asked, _, err := trained(t, folder, own, "-json", "-model.capture_network", "-model.capture_optimizer")
	require.NoError(t, err)
	require.Equal(t, native.Hashes, asked.Hashes)
	require.Equal(t, native.Validation, asked.Validation)

	const why = "objective overridden: classification loss"
	network, optimizer := asked.Recording.Stages[0], asked.Recording.Stages[1]
	require.Zero(t, network.Recorded)
	require.Zero(t, network.Replayed)
	require.Contains(t, network.Reasons, replay.ReasonCount{Reason: replay.Reason{Guard: "G7", Scope: replay.FromThenOn, Text: why}, Calls: 4})
	require.Equal(t, 4, optimizer.Replayed)
	require.Equal(t, []string{"capture_network was asked for but nothing of stage network was replayed: " + why}, asked.Recording.Warnings)

	usual, _, err := trained(t, folder, train.Objective{}, "-json", "-model.capture_network")
	require.NoError(t, err)
	require.Equal(t, 4, usual.Recording.Stages[0].Replayed)
	require.NotEqual(t, usual.Hashes.Model, asked.Hashes.Model, "the loss is used")
	require.Less(t, float64(asked.FirstEpochLoss), float64(usual.FirstEpochLoss))

	_, text, err := trained(t, folder, own, "-explain", "-stop-after=1", "-model.capture_network")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^network +no .* objective overridden: classification loss \(G7, from then on\)$`, text)
	_, _, err = trained(t, folder, own, "-trainer.strict", "-model.capture_network")
	require.EqualError(t, err, "epoch 0, batch 0: stage network: strict: the call cannot be replayed: "+why+" (G7); remove the cause, or turn strict off")
}

// Options are those of the settings. An objective with others has the task's own
// functions, so it is replayed; here it is the fit of the settings that say the
// same.
func TestRunWithOtherOptions(t *testing.T) {
	folder := scenery(t)
	var given obb.Options
	halved := train.NewObjective(func(options obb.Options) (*obb.Objective, error) {
		given = options
		options.Gains.Class /= 2
		return obb.New(options)
	})
	got, _, err := trained(t, folder, halved, "-json", "-model.capture_network", "-loss.cls_gain=0.75", "-loss.rotated_iou_form=bhattacharyya")
	require.NoError(t, err)
	require.Equal(t, 0.75, given.Gains.Class)
	require.Equal(t, obb.Bhattacharyya, given.Form)
	require.Equal(t, 4, got.Recording.Stages[0].Replayed)
	want, _, err := trained(t, folder, train.Objective{}, "-json", "-loss.cls_gain=0.375", "-loss.rotated_iou_form=bhattacharyya")
	require.NoError(t, err)
	require.Equal(t, want.Hashes, got.Hashes)
}

func TestObjectivesThatCannotTrain(t *testing.T) {
	folder := scenery(t)
	for want, objective := range map[string]train.Objective{
		"the objective is one of task pose and the network is of task obb; make it with tasks/obb/objective":       train.NewObjective(pose.New),
		"the constructor of the objective is nil; leave it out to have the one of task obb":                        train.NewObjective((func(obb.Options) (*obb.Objective, error))(nil)),
		"the constructor of the objective returned nil and no error; return what New of tasks/obb/objective gives": train.NewObjective(func(obb.Options) (*obb.Objective, error) { return nil, nil }),
		"constructor of the objective: no table of weights":                                                        train.NewObjective(func(obb.Options) (*obb.Objective, error) { return nil, errors.New("no table of weights") }),
		"epoch 0, batch 0: angle term is nil; make the objective with New, and give a function that returns 0 to leave a term out": train.NewObjective(func(o obb.Options) (*obb.Objective, error) {
			objective, err := obb.New(o)
			objective.Angle = nil
			return objective, err
		}),
	} {
		_, text, err := trained(t, folder, objective)
		require.EqualError(t, err, want)
		require.Empty(t, text)
	}
}
