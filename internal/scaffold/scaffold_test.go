package scaffold_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen"
	"github.com/reprise-ml/reprise/gen/emit"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/internal/scaffold"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = dir
	output, err := c.CombinedOutput()
	require.NoError(t, err, "go %s\n%s", strings.Join(args, " "), output)
	return string(output)
}

// A new module generates and trains as it is: nothing is edited or looked up.
func TestANewModuleGeneratesAndTrains(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ships")
	request := scaffold.Request{Dir: dir, Task: "obb", Scale: "t", Classes: 4, ClassesGiven: true}
	require.NoError(t, scaffold.Write(context.Background(), request))
	t.Setenv("GOFLAGS", "-mod=readonly")
	t.Setenv("GOPROXY", "off")
	command(t, dir, "generate")
	command(t, dir, "vet", "./...")
	data := filepath.Join(t.TempDir(), "data")
	require.NoError(t, scenes.WriteOriented(data, scenes.Folder{Train: 2, Val: 1}, scenes.Options{Size: 64, Objects: 4}))
	output := command(t, dir, "run", ".", "-data", filepath.Join(data, "data.yaml"),
		"-trainer.max_epochs=1", "-data.img_size=64", "-data.batch_size=2", "-run.dir="+filepath.Join(data, "run"))
	require.Contains(t, output, "obb at scale t, 4 classes")
	require.FileExists(t, filepath.Join(data, "run", "last.safetensors"))
}

// Every task has a module of its own, with its stages in the order in which they
// run and with the plans of the task itself.
func TestEveryTask(t *testing.T) {
	for _, network := range inspect.Networks() {
		t.Run(network.Task, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "own")
			request := scaffold.Request{Dir: dir, Task: network.Task, Scale: "t", Classes: 3, ClassesGiven: true}
			require.NoError(t, scaffold.Write(context.Background(), request))
			changes, err := gen.Plan(context.Background(), gen.Config{Dir: dir, Patterns: []string{"./definition"}, Out: network.Task})
			require.NoError(t, err)
			require.NoError(t, changes[0].Write())
			command(t, dir, "vet", "./...")
			main, err := os.ReadFile(filepath.Join(dir, "main.go"))
			require.NoError(t, err)
			at := 0
			for _, d := range network.Define(inspect.Model{Scale: yolo26.Test, Classes: 3, Keypoints: network.Keypoints}) {
				stage, err := d.Build()
				require.NoError(t, err)
				plan, err := pass.Run(stage, nil)
				require.NoError(t, err)
				code, err := os.ReadFile(filepath.Join(dir, network.Task, emit.Stem(stage.Name)+"_gen.go"))
				require.NoError(t, err)
				require.Contains(t, string(code), `Digest = "`+plan.Digest+`"`)
				load := regexp.MustCompile(`func (\w*Plan)\(\)`).FindStringSubmatch(string(code))[1]
				found := strings.Index(string(main[at:]), network.Task+"."+load+",")
				require.Positive(t, found, "%s after those before it", load)
				at += found
			}
		})
	}
}

func TestAFolderIsWrittenWholeOrNotAtAll(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "ships")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, scaffold.Write(context.Background(), scaffold.Request{Dir: dir, Task: "obb", Scale: "s"}))
	text, err := os.ReadFile(filepath.Join(dir, "definition", "definition.go"))
	require.NoError(t, err)
	require.Contains(t, string(text), "const Classes = 15\n")
	require.Contains(t, string(text), "obb.Define(yolo26.Small, Classes)")
	require.ErrorContains(t, scaffold.Write(context.Background(), scaffold.Request{Dir: dir, Task: "obb", Scale: "s"}), "not empty")
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing temporary is left")
}
