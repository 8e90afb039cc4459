package mutation

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edit replaces a text that its file holds once.
type edit struct{ file, old, new string }

// simulated is a mutation of the CUDA back end or of its kernels, which a test on
// the simulated driver must notice, and a pattern of what it then says.
type simulated struct {
	name            string
	edits           []edit
	pkg, test, says string
}

const (
	program    = "runtime/cuda/reprise_program.c"
	kernels    = "internal/testscale/small/network_gen.cu"
	simulator  = "./internal/cudasim"
	backEnd    = "./runtime/cuda"
	recordings = "TestTrialDigest"
)

// foreign lets a program run kernels that were built from other source than its own.
var foreign = edit{"runtime/cuda/registry.go", "if image.Source != g.Kernels {", "if false {"}

// onTheSimulator are the mutations that the simulator is there to catch.
var onTheSimulator = []simulated{
	{"a barrier", []edit{foreign, {
		kernels,
		"      shared[warp * channels + lane * V + i] = part[i];\n  __syncthreads();\n",
		"      shared[warp * channels + lane * V + i] = part[i];\n",
	}}, simulator, recordings, "with no barrier between"},
	{"the bound of an elementwise kernel", []edit{foreign, {
		kernels,
		"  if (item >= rows * length)\n    return;\n  const Index row = item / length, inner = item % length;\n  const int64_t *state",
		"  if (item > rows * length)\n    return;\n  const Index row = item / length, inner = item % length;\n  const int64_t *state",
	}}, backEnd, "TestKernelsStayInTheirStorages/small/fp32", "past its end"},
	{"the last elements of an elementwise kernel", []edit{foreign, {
		kernels,
		"  if (item >= rows * chunks)\n    return;\n  const Index row = item / chunks, inner = item % chunks * V;\n  float a[V] = {}, b[V] = {}, y[V];\n",
		"  if (item + 1 >= rows * chunks)\n    return;\n  const Index row = item / chunks, inner = item % chunks * V;\n  float a[V] = {}, b[V] = {}, y[V];\n",
	}}, backEnd, "TestKernelsStayInTheirStorages/small/fp32", "is NaN|output classes"}, // memory that nobody wrote, or that another storage had
	{"the release of a graph", []edit{{program, "    cuGraphDestroy(graph);\n", "    (void)graph;\n"}}, simulator, recordings, "graphs"},
	{"no allocation while recording", []edit{{
		program,
		"  c->recording_now = 1;\n", "  c->recording_now = 1;\n  CUdeviceptr late;\n  cuMemAlloc(&late, 16);\n",
	}}, simulator, recordings, "cuMemAlloc: not allowed while a stream is capturing"},
	{"the thread of a capture", []edit{
		{program, "static CUresult capture(", "#include <pthread.h>\nstruct ending {\n  struct reprise_context *c;\n  CUgraph *graph;\n  CUcontext current;\n  CUresult r;\n};\n\n" +
			"static void *elsewhere(void *argument) {\n  struct ending *e = argument;\n  cuCtxSetCurrent(e->current);\n  e->r = cuStreamEndCapture(e->c->lane[0], e->graph);\n  return NULL;\n}\n\nstatic CUresult capture("},
		{program, "  const CUresult end = cuStreamEndCapture(c->lane[0], graph);\n",
			"  struct ending e = {c, graph, NULL, CUDA_SUCCESS};\n  pthread_t thread;\n  cuCtxGetCurrent(&e.current);\n  pthread_create(&thread, NULL, elsewhere, &e);\n  pthread_join(thread, NULL);\n  const CUresult end = e.r;\n"},
	}, simulator, recordings, "another thread"},
	{"a replay is a launch of the recording", []edit{{program, "cuGraphLaunch(c->recording[program], c->lane[0])", "reprise_run(c, program)"}}, simulator, recordings, "launches of recordings"},
}

// Each mechanism of the table is where the table says.
func TestSimulatedMechanismsAreFound(t *testing.T) {
	for _, m := range onTheSimulator {
		for _, e := range m.edits {
			text, err := os.ReadFile(filepath.Join(root, e.file))
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(text), e.old), "%s: %q in %s", m.name, e.old, e.file)
		}
	}
}

// Each mechanism of the CUDA back end has a test on the simulated driver that
// fails without it. Kernels and C are compiled anew in a copy of the source, which
// is kept between runs.
func TestEverySimulatedTestFails(t *testing.T) {
	if !*asked {
		t.Skip("takes long; give -mutation, or use make test-mutation")
	}
	tree, err := filepath.Abs(filepath.Join(root, ".cache/mutation/tree"))
	require.NoError(t, err)
	copied(t, tree)
	for _, m := range onTheSimulator {
		t.Run(m.name, func(t *testing.T) {
			for _, e := range m.edits {
				e.apply(t, tree)
			}
			output, err := onSimulator(tree, m)
			failed := (*exec.ExitError)(nil)
			require.True(t, errors.As(err, &failed), "%s passes without it: %v\n%s", m.test, err, output)
			require.Contains(t, output, "--- FAIL: ")
			says := regexp.MustCompile(m.says)
			require.Regexp(t, says, output)
			for line := range strings.Lines(output) {
				if strings.Contains(line, "--- FAIL: ") || says.MatchString(line) {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
	passed := map[string]bool{}
	for _, m := range onTheSimulator {
		if test := m.pkg + " " + m.test; !passed[test] {
			output, err := onSimulator(tree, m)
			require.NoError(t, err, "%s fails with everything in place\n%s", m.test, output)
			passed[test] = true
		}
	}
}

// apply changes a file of the copy until the end of the test.
func (e edit) apply(t *testing.T, tree string) {
	t.Helper()
	file := filepath.Join(tree, e.file)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Replace(whole, []byte(e.old), []byte(e.new), 1), 0o644))
	t.Cleanup(func() { require.NoError(t, os.WriteFile(file, whole, 0o644)) })
}

// copied brings the copy of the source up to date. Files that are right stay as
// they are, so that little is compiled anew.
func copied(t *testing.T, tree string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	require.NoError(t, err)
	for _, name := range strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		from, to := filepath.Join(root, name), filepath.Join(tree, name)
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, text) {
			continue
		}
		info, err := os.Stat(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, text, info.Mode()))
	}
}

// onSimulator runs the test of a mutation in the copy.
func onSimulator(tree string, m simulated) (string, error) {
	command := exec.Command(filepath.Join(tree, "internal/cudasim/test.sh"), "-count=1", "-run=^"+m.test, m.pkg)
	command.Env = append(os.Environ(), "BUILD="+filepath.Join(filepath.Dir(tree), "build"))
	output, err := command.CombinedOutput()
	return string(output), err
}
