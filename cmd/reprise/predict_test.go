package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/predict"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/validate"
)

func runReprise(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = execute(args, &out, &errs)
	return out.String(), errs.String(), code
}

// A trained checkpoint is judged and predicts, by the commands that users type.
func TestTrainValPredict(t *testing.T) {
	root := t.TempDir()
	set := filepath.Join(root, "set")
	require.NoError(t, scenes.WritePose(set, scenes.Folder{Train: 2, Val: 2}, scenes.Options{Size: 96, Objects: 3, Seed: 2}))
	file, weights := filepath.Join(set, "data.yaml"), filepath.Join(root, "run", "last.safetensors")
	_, errs, code := runReprise("train", "-task", "pose", "-data", file, "--model.scale=t", "--data.img_size=64",
		"--data.batch_size=2", "--trainer.max_epochs=1", "--run.dir="+filepath.Join(root, "run"))
	require.Zero(t, code, "the keypoints are counted by the data set: "+errs)
	_, errs, code = runReprise("train", "-task", "pose", "-data", file, "--model.scale=t", "--model.keypoints=4")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "declares 5 keypoints, model.keypoints is 4; set --model.keypoints=5")
	_, errs, code = runReprise("train", "-task", "pose", "-data", file, "--optim.lr=-1")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--optim.lr", "the first error stays the one that is told")

	out, errs, code := runReprise("val", "-weights", weights, "-data", file, "-out", filepath.Join(root, "val"), "-json")
	require.Zero(t, code, errs)
	var report validate.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, []any{"pose", 2, 2}, []any{report.Task, report.Images, len(report.Paths)})
	require.Len(t, report.Paths[0].Figures, 22)
	require.FileExists(t, filepath.Join(root, "val", validate.ReportName))
	require.FileExists(t, filepath.Join(root, "val", "nms-confusion.png"))

	out, errs, code = runReprise("predict", "-weights", weights, "-source", filepath.Join(set, "images", "val"),
		"-out", filepath.Join(root, "predictions"), "-conf", "0", "-json")
	require.Zero(t, code, errs)
	var results []predict.Result
	require.NoError(t, json.Unmarshal([]byte(out), &results))
	require.Len(t, results, 2)
	require.Equal(t, "plane", results[0].Instances[0].Name)
	require.Len(t, results[0].Instances[0].Keypoints, 5)

	other := filepath.Join(root, "other")
	require.NoError(t, scenes.WriteDetect(other, scenes.Folder{Train: 1, Val: 1}, scenes.Options{Size: 64, Objects: 1}))
	_, errs, code = runReprise("val", "-weights", weights, "-data", filepath.Join(other, "data.yaml"))
	require.Equal(t, 1, code)
	require.Contains(t, errs, "names other classes than last.safetensors: the number of classes (1, now 4); give the data set that the weights were trained for")
}

// A data set of tiles is trained on and judged by tiles and by whole images.
func TestValPutsTilesTogether(t *testing.T) {
	root := t.TempDir()
	set, cut := filepath.Join(root, "set"), filepath.Join(root, "tiles")
	require.NoError(t, scenes.WriteOriented(set, scenes.Folder{Train: 1, Val: 2}, scenes.Options{Size: 96, Objects: 3, Seed: 2}))
	_, errs, code := runReprise("data", "tile", "-data", filepath.Join(set, "data.yaml"), "-patch", "64", "-overlap", "16", "-out", cut)
	require.Zero(t, code, errs)
	_, errs, code = runReprise("train", "-task", "obb", "-data", cut, "--model.scale=t", "--data.img_size=64",
		"--data.batch_size=4", "--trainer.max_epochs=1", "--optim.ns_steps=1", "--run.dir="+filepath.Join(root, "run"))
	require.Zero(t, code, errs)
	out, errs, code := runReprise("val", "-weights", filepath.Join(root, "run", "last.safetensors"), "-data", cut, "-json")
	require.Zero(t, code, errs)
	var report validate.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, []int{8, 2, 2}, []int{report.Images, report.Whole.Images, len(report.Whole.Paths)})
	require.Empty(t, report.Whole.LeftOut)
	require.Less(t, report.Whole.Instances, report.Instances, "an object on two tiles counts once")
	require.Equal(t, "mar", report.Whole.Paths[0].Figures[3].Name)
	require.Equal(t, "mar_300", report.Paths[0].Figures[3].Name)
}

func TestValAndPredictFlagsAreChecked(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"val"}, "-data is not set; "},
		{[]string{"val", "-data", "x"}, "-weights is not set; give a checkpoint"},
		{[]string{"predict"}, "-weights is not set; give a checkpoint"},
		{[]string{"predict", "-weights", "x"}, "-source is not set; give an image"},
		{[]string{"predict", "-weights", "x", "-source", "y"}, "-out is not set; give a directory"},
		{[]string{"predict", "-weights", "x", "-source", "y", "-out", "z", "-device", "abacus"}, `device is "abacus"; use host or cuda`},
	} {
		_, errs, code := runReprise(test.args...)
		require.Equal(t, 1, code)
		require.Contains(t, errs, test.want)
	}
}
