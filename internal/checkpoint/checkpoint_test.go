package checkpoint

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nlpodyssey/safetensors"
	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/fuzz/allocation"
	"github.com/reprise-ml/reprise/internal/optim"
)

// example is a small complete fit.
func example() *State {
	return &State{
		Meta: Meta{
			Task: "pose", Scale: "n", Classes: 2, Keypoints: 3, Epoch: 2, Batch: 3, Step: 11, Pending: 1,
			Labels: Labels{
				Classes: []string{"bird", "<gr\u00f6\u00dfer>"}, Keypoints: []string{"beak", "left_wing", "right_wing"},
				FlipOrder: []int{0, 2, 1}, Skeleton: [][2]int{{0, 1}, {0, 2}},
			},
			Schedule:      Schedule{Step: 11, Rate: 0.00858, Alpha: 0.45},
			Scaler:        &optim.LossScalerState{Scale: 32768, Good: 7},
			EMA:           &optim.EMACounters{Updates: 11, Steps: 11},
			Seeds:         Seeds{Trainer: 1<<64 - 1, Data: 3},
			Configuration: map[string]string{"optim.lr": "0.01", "data.batch_size": "4"},
		},
		Model: []Tensor{
			Float("stem.conv.weight", []int{2, 1, 1, 1}, []float32{1.5, -2}),
			Float("stem.bn.running_mean", []int{2}, []float32{0.25, 0.5}),
			Integer("stem.bn.num_batches_tracked", nil, []int64{1<<53 + 1}),
		},
		EMA: []Tensor{
			Float("stem.conv.weight", []int{2, 1, 1, 1}, []float32{1, -1}),
			Float("stem.bn.running_mean", []int{2}, []float32{0.125, 0.0625}),
		},
		Momentum: []Tensor{Float("stem.conv.weight", []int{2, 1, 1, 1}, []float32{1e-45, 3e38})},
		Gradient: []Tensor{Float("stem.conv.weight", []int{2, 1, 1, 1}, []float32{7, 8})},
	}
}

func encoded(t testing.TB, s *State) []byte {
	t.Helper()
	var buffer bytes.Buffer
	require.NoError(t, Encode(&buffer, s))
	return buffer.Bytes()
}

// PO-13, integer half: a counter stays int64 and has no average.
func TestRoundTrip(t *testing.T) {
	want := example()
	path := filepath.Join(t.TempDir(), "fit.safetensors")
	require.NoError(t, Save(path, want))
	got, err := Load(path)
	require.NoError(t, err)

	meta := want.Meta
	meta.Version = Version
	require.Equal(t, meta, got.Meta)
	require.Equal(t, Hash(want, nil), Hash(got, nil))
	require.Equal(t, sorted(want.Gradient), got.Gradient)
	counter, err := integers(got.Model[0])
	require.NoError(t, err)
	require.Equal(t, []int64{1<<53 + 1}, counter)
	_, err = floats[float64](got.Model[0])
	require.ErrorContains(t, err, "stored as I64")
}

// The file is an ordinary safetensors file with the model under its state-entry
// names.
func TestFileIsSafetensors(t *testing.T) {
	data := encoded(t, example())
	file, err := safetensors.Deserialize(data)
	require.NoError(t, err)
	names := file.Names()
	slices.Sort(names)
	require.Equal(t, []string{
		"ema.stem.bn.running_mean", "ema.stem.conv.weight", "gradient.stem.conv.weight", "momentum.stem.conv.weight",
		"stem.bn.num_batches_tracked", "stem.bn.running_mean", "stem.conv.weight",
	}, names)
}

// Field case LC-10 and invariant I9: keys and bytes do not depend on the order
// of the tensors, nor on anything outside the state.
func TestBytesAreDeterministic(t *testing.T) {
	want := encoded(t, example())
	for range 20 {
		s := example()
		slices.Reverse(s.Model)
		slices.Reverse(s.EMA)
		require.Equal(t, want, encoded(t, s))
	}
	directory := t.TempDir()
	for _, name := range []string{"native", "replay"} {
		require.NoError(t, Save(filepath.Join(directory, name), example()))
	}
	first, err := os.ReadFile(filepath.Join(directory, "native"))
	require.NoError(t, err)
	second, err := os.ReadFile(filepath.Join(directory, "replay"))
	require.NoError(t, err)
	require.Equal(t, want, first)
	require.Equal(t, first, second)
}

func TestSaveReplacesWholeFilesOnly(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "fit.safetensors")
	require.NoError(t, Save(path, example()))
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	broken := example()
	broken.Model = append(broken.Model, Tensor{Name: "x"})
	require.ErrorContains(t, Save(path, broken), path+": checkpoint: ")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	files, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, files, 1, "no temporary file is left behind")

	require.ErrorContains(t, Save(filepath.Join(directory, "none", "fit"), example()), "cannot write the checkpoint")
}

func TestEncodeRefusesContradictions(t *testing.T) {
	float := func(name string) Tensor { return Float(name, nil, []float32{1}) }
	for want, change := range map[string]func(*State){
		`"ema.", which is reserved`:       func(s *State) { s.Model = append(s.Model, float("ema.x")) },
		"listed twice":                    func(s *State) { s.Model = append(s.Model, s.Model[0]) },
		"has no name":                     func(s *State) { s.Momentum = append(s.Momentum, float("")) },
		"not UTF-8":                       func(s *State) { s.Model = append(s.Model, float("\xff")) },
		"must be floating-point":          func(s *State) { s.EMA = append(s.EMA, s.Model[2]) },
		"stored together":                 func(s *State) { s.Meta.EMA = nil },
		"without a pending micro-batch":   func(s *State) { s.Meta.Pending = 0 },
		"step is -1":                      func(s *State) { s.Meta.Step = -1 },
		"1 names for 2 classes":           func(s *State) { s.Meta.Labels.Classes = []string{"bird"} },
		"name 1 of classes and keypoint":  func(s *State) { s.Meta.Labels.Classes[1] = "\xff" },
		"the bone [0 3] joins what is no": func(s *State) { s.Meta.Labels.Skeleton[0][1] = 3 },
		"network is not described":        func(s *State) { s.Meta.Task = "" },
		"every dimension must be positi":  func(s *State) { s.Model = append(s.Model, Float[float32]("x", []int{0}, nil)) },
		"has shape [3] and 4 bytes":       func(s *State) { s.Model = append(s.Model, Float("x", []int{3}, []float32{1})) },
	} {
		s := example()
		change(s)
		require.ErrorContains(t, Encode(new(bytes.Buffer), s), want)
	}
}

// header builds a file from a JSON header and the given number of data bytes.
func header(text string, size int) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(data, text...), make([]byte, size)...)
}

func TestDecodeRefusesDamage(t *testing.T) {
	good := encoded(t, example())
	state := func(meta string) string {
		return `{"__metadata__":{"format":"reprise-checkpoint","state":"` + strings.ReplaceAll(meta, `"`, `\"`) + `"}}`
	}
	longHeader := slices.Clone(good)
	binary.LittleEndian.PutUint64(longHeader, 1<<63)
	claims := slices.Clone(good)
	binary.LittleEndian.PutUint64(claims, uint64(len(good)))
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "too few"},
		"huge header":      {longHeader, "its header claims 9223372036854775808"},
		"header past end":  {claims, "truncated"},
		"truncated":        {good[:len(good)-1], "damaged"},
		"longer":           {append(slices.Clone(good), 0), "damaged"},
		"not JSON":         {header("{", 0), "damaged"},
		"foreign file":     {header(`{"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4), `format "", not a reprise-checkpoint`},
		"other version":    {header(state(`{"version":1}`), 0), "format version 1, this program reads 2"},
		"no metadata":      {header(state(``), 0), "metadata"},
		"unknown metadata": {header(state(`{"version":2,"surprise":1}`), 0), "surprise"},
		"trailing":         {header(state(`{"version":2}{}`), 0), "metadata"},
		"no network":       {header(state(`{"version":2}`), 0), "network is not described"},
		"wrapping lengths": {header(`{"__metadata__":{"format":"reprise-checkpoint","state":"{\"version\":2}"},"w":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615]}}`, 0), "damaged"},
		"other dtype":      {header(`{"__metadata__":{"format":"reprise-checkpoint","state":"{\"version\":2,\"task\":\"obb\",\"scale\":\"n\",\"classes\":1,\"labels\":{\"classes\":[\"a\"]}}"},"w":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, 2), "stored as F16; a checkpoint holds F32, F64 and I64 alone, so convert the tensor to F32"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(test.data)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// One changed bit of a tensor or of the metadata is found; a file without a digest,
// as they were written before, is read.
func TestDecodeFindsAChangedBit(t *testing.T) {
	good := encoded(t, example())
	for name, at := range map[string]int{"tensors": len(good) - 1, "metadata": bytes.Index(good, []byte("0.00858")) + 5} {
		bad := slices.Clone(good)
		bad[at] ^= 1
		_, err := Decode(bad)
		require.EqualError(t, err, "damaged checkpoint: its content is not what was written; use an earlier one or a copy", name)
	}
	before := bytes.Replace(good, []byte(`"sha256"`), []byte(`"before"`), 1)
	require.NotEqual(t, good, before)
	_, err := Decode(before)
	require.NoError(t, err)
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	directory := t.TempDir()
	_, err := Load(directory)
	require.ErrorContains(t, err, "not a regular file")
	_, err = Load(filepath.Join(directory, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	short := filepath.Join(directory, "short")
	require.NoError(t, os.WriteFile(short, []byte("1234"), 0o600))
	_, err = Load(short)
	require.ErrorContains(t, err, short+": not a checkpoint: 4 bytes are too few")
}

// What a damaged file claims is compared with limits before it is allocated.
func TestLoadAllocatesNothingForAnImplausibleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for size, want := range map[int64]string{maximumFile + 1: "more than the limit", 1 << 30: "its header claims"} {
		require.NoError(t, os.Truncate(path, size))
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.Write(binary.LittleEndian.AppendUint64(nil, maximumHeader+1))
		require.NoError(t, err)
		require.NoError(t, file.Close())

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = Load(path)
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, want)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	}
}

// Labels that differ are named, each part by itself.
func TestLabelsDiffer(t *testing.T) {
	require.Empty(t, example().Meta.Labels.Differs(example().Meta.Labels))
	for want, change := range map[string]func(*Labels){
		"the number of classes (2, now 1)":                                   func(l *Labels) { l.Classes = l.Classes[:1] },
		`class 0 ("bird", now "plane")`:                                      func(l *Labels) { l.Classes[0] = "plane" },
		`the names of keypoints (["beak" "left_wing" "right_wing"], now [])`: func(l *Labels) { l.Keypoints = nil },
		"the flip order of keypoints ([0 2 1], now [0 1 2])":                 func(l *Labels) { l.FlipOrder = []int{0, 1, 2} },
		"the skeleton ([[0 1] [0 2]], now [[0 1]])":                          func(l *Labels) { l.Skeleton = l.Skeleton[:1] },
	} {
		now := example().Meta.Labels
		change(&now)
		require.Equal(t, want, example().Meta.Labels.Differs(now))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, example()))
	f.Add(header(`{}`, 0))
	f.Add(header(`{"__metadata__":{"format":"reprise-checkpoint","state":"{\"version\":2}"}}`, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s *State
		var err error
		allocation.AtMost(t, allocation.PerByte, len(data), func() { s, err = Decode(data) })
		if err != nil {
			return
		}
		var buffer bytes.Buffer
		require.NoError(t, Encode(&buffer, s), "what is read can be written")
	})
}
