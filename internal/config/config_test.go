package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/fuzz/allocation"
)

// load resolves a file of the given text, or none, and command-line arguments.
// The file's path is replaced by "run.yaml" in errors.
func load(t testing.TB, text string, arguments ...string) (*Settings, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Register(flags)
	require.NoError(t, flags.Parse(arguments))
	path := ""
	if text != "" {
		path = filepath.Join(t.TempDir(), "run.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return Load(path, flags)
}

func TestTableIsConsistent(t *testing.T) {
	names := make([]string, len(keys))
	fields := map[any]string{}
	var s Settings
	for i := range keys {
		k := &keys[i]
		names[i] = k.name
		require.Empty(t, fields[k.field(&s)], "%s shares its field", k.name)
		fields[k.field(&s)] = k.name
		require.NotEmpty(t, k.help)
		for _, task := range taskNames {
			value := k.defaultFor(task)
			if !isExtent(k) {
				require.Equal(t, reflect.TypeOf(k.field(&s)).Elem(), reflect.TypeOf(value), k.name)
			}
			if !k.required {
				require.True(t, k.allowed.ok(value), "the default of %s is allowed", k.name)
			}
			parsed, _ := k.parse(format(value))
			require.Equal(t, value, parsed, k.name)
		}
	}
	require.True(t, slices.IsSorted(names))
	require.Len(t, slices.Compact(names), len(keys))
	require.Equal(t, len(keys)+1, countFields(reflect.TypeOf(s)), "every field has a key, the extent of recording has two fields")
}

// The run folder of a task is below one folder that the repository ignores.
func TestRunFoldersAreIgnored(t *testing.T) {
	ignored, err := os.ReadFile("../../.gitignore")
	require.NoError(t, err)
	require.Contains(t, strings.Split(string(ignored), "\n"), "/runs/")
	for _, task := range taskNames {
		s, err := Defaults(task)
		require.NoError(t, err)
		require.Equal(t, "runs/"+task, s.Run.Dir)
	}
}

func countFields(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return 1
	}
	count := 0
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			count += countFields(t.Field(i).Type)
		}
	}
	return count
}

// YOLO26 specification, training section 1.
func TestDefaults(t *testing.T) {
	s, err := load(t, "task: detect\n")
	require.NoError(t, err)
	require.Equal(t, Optim{LR: 0.01, LRF: 0.01, WarmupEpochs: 3, Momentum: 0.95, WeightDecay: 5e-4, WMuon: 0.5, WSGD: 0.5,
		NSSteps: 5, EMADecay: 0.9999, EMATau: 2000, EMAUpdateEvery: 1}, s.Optim)
	require.Equal(t, Loss{BoxGain: 7.5, ClsGain: 0.5, L1Gain: 6, MaskGain: 2.5, SemanticGain: 0.5, AngleGain: 0.25,
		RotatedIoUForm: "hellinger", KeypointGain: 1, KeypointLoss: "rle", Alpha: 0.5, AlphaInit: 0.8, AlphaFinal: 0.1}, s.Loss)
	require.Equal(t, Model{Scale: "n", Classes: 80}, s.Model)
	require.Equal(t, Data{ImgSize: 640, BatchSize: 16, Augmentation: Augmentation{Mosaic: 1, CloseMosaic: 10, AffineScale: 0.5,
		Translate: 0.1, CopyPaste: 0.1, Hue: 0.015, Saturation: 0.7, Value: 0.4, Flip: 0.5}}, s.Data)
	require.Equal(t, Trainer{MaxEpochs: 50, Precision: "fp32", Accumulate: 1, GradientClip: 10}, s.Trainer)

	obb, err := load(t, "", "--task=obb")
	require.NoError(t, err)
	require.Equal(t, []int{15, 1024}, []int{obb.Model.Classes, obb.Data.ImgSize})
	pose, err := load(t, "", "--task=pose", "--model.keypoints=17")
	require.NoError(t, err)
	require.Equal(t, []int{1, 640}, []int{pose.Model.Classes, pose.Data.ImgSize})
}

// YOLO26 paper, table S3. A setting that was given wins over that of its scale.
func TestAugmentationGrowsWithTheScale(t *testing.T) {
	for _, test := range []struct {
		scale                    string
		affine, mixup, copyPaste float64
	}{{"t", 0.5, 0, 0.1}, {"n", 0.5, 0, 0.1}, {"s", 0.9, 0.05, 0.15}, {"m", 0.9, 0.1, 0.4}, {"l", 0.9, 0.1, 0.5}, {"x", 0.9, 0.2, 0.6}} {
		s, err := load(t, "", "--task=segment", "--model.scale="+test.scale)
		require.NoError(t, err)
		require.Equal(t, []float64{test.affine, test.mixup, test.copyPaste}, []float64{s.Data.AffineScale, s.Data.Mixup, s.Data.CopyPaste})
	}
	s, err := load(t, "task: segment\nmodel.scale: x\ndata:\n  mixup: 0\n")
	require.NoError(t, err)
	require.Equal(t, []float64{0.9, 0, 0.6}, []float64{s.Data.AffineScale, s.Data.Mixup, s.Data.CopyPaste})
}

func TestFlagsWinOverTheFile(t *testing.T) {
	text := "task: segment\nmodel:\n  capture_network: false\n  scale: s\noptim.lr: 2e-2\ndata:\n  seed: 18446744073709551615\n"
	s, err := load(t, text, "--model.capture_network", "--optim.lr=0.03", "--model.capture_segment_heads=true")
	require.NoError(t, err)
	require.Equal(t, Model{Scale: "s", Classes: 80, CaptureNetwork: true, CaptureSegmentHeads: true}, s.Model)
	require.Equal(t, 0.03, s.Optim.LR)
	require.Equal(t, uint64(1<<64-1), s.Data.Seed)

	s, err = load(t, text)
	require.NoError(t, err)
	require.Equal(t, 0.02, s.Optim.LR)
	require.False(t, s.Model.CaptureNetwork)
}

// Recording has an extent: nothing, what the option names, or every stage.
func TestExtentOfRecording(t *testing.T) {
	for _, test := range []struct {
		text      string
		arguments []string
		some, all bool
	}{
		{"task: pose\nmodel.keypoints: 3\n", nil, false, false},
		{"task: pose\nmodel:\n  keypoints: 3\n  capture_network: full\n", nil, true, true},
		{"task: pose\nmodel:\n  keypoints: 3\n  capture_network: true\n", nil, true, false},
		{"task: pose\nmodel:\n  keypoints: 3\n  capture_network: full\n", []string{"--model.capture_network=false"}, false, false},
		{"", []string{"--task=obb", "--model.capture_network"}, true, false},
		{"", []string{"--task=obb", "--model.capture_network=full"}, true, true},
	} {
		s, err := load(t, test.text, test.arguments...)
		require.NoError(t, err)
		require.Equal(t, [2]bool{test.some, test.all}, [2]bool{s.Model.CaptureNetwork, s.Model.CaptureFull}, test)
		text, err := s.YAML()
		require.NoError(t, err)
		again, err := load(t, string(text))
		require.NoError(t, err)
		require.Equal(t, s.Model, again.Model)
		require.NotContains(t, s.HyperParameters(), "model.capture_network")
	}
	_, err := load(t, "", "--task=obb", "--model.capture_network=all")
	require.ErrorContains(t, err, `model.capture_network is "all"; it must be true, false or full`)
}

func TestErrorsNameThePlaceAndTheRemedy(t *testing.T) {
	for _, test := range []struct {
		name, text string
		arguments  []string
		want       string
	}{
		{"unknown key", "task: obb\noptim:\n  lrr: 1\n", nil, "run.yaml:3: unknown key optim.lrr; did you mean optim.lr?"},
		{"forgotten section", "task: obb\nmomentum: 0.9\n", nil, "run.yaml:2: unknown key momentum; did you mean optim.momentum?"},
		{"unknown section", "task: obb\ntrain:\n  seed: 1\n", nil, "run.yaml:2: unknown key train; did you mean"},
		{"too deep", "task: obb\noptim:\n  lr:\n    x: 1\n", nil, "run.yaml:3: optim.lr has a value of another kind; it must be a finite number above 0"},
		{"section as value", "task: obb\noptim: 3\n", nil, "run.yaml:2: expected keys with values"},
		{"range in the file", "task: obb\noptim:\n  lr: -1\n", nil, `run.yaml:3: optim.lr is "-1"; it must be a finite number above 0`},
		{"range of a flag", "", []string{"--task=obb", "--optim.momentum=1"}, `--optim.momentum: optim.momentum is "1"; it must be a number of at least 0 and below 1`},
		{"warm-up below zero", "task: obb\ntrainer:\n  accumulate: 4\n  accumulate_warmup_epochs: -0.5\n", nil, `run.yaml:4: trainer.accumulate_warmup_epochs is "-0.5"; it must be a finite number of at least 0`},
		{"endless warm-up", "", []string{"--task=obb", "--trainer.accumulate_warmup_epochs=Inf"}, `--trainer.accumulate_warmup_epochs: trainer.accumulate_warmup_epochs is "Inf"; it must be a finite number of at least 0`},
		{"warm-up that is no number", "task: obb\ntrainer:\n  accumulate_warmup_epochs: slow\n", nil, `run.yaml:3: trainer.accumulate_warmup_epochs is "slow"; it must be a finite number of at least 0`},
		{"misspelt warm-up", "task: obb\ntrainer:\n  accumulate_warmup: 3\n", nil, "run.yaml:3: unknown key trainer.accumulate_warmup; did you mean trainer.accumulate"},
		{"multiple", "", []string{"--task=obb", "--data.img_size=650"}, `it must be a multiple of 32 from 32 to 8192`},
		{"not an integer", "task: obb\ndata:\n  batch_size: 4.5\n", nil, `run.yaml:3: data.batch_size is "4.5"; it must be an integer from 1 to 4096`},
		{"integer overflow", "", []string{"--task=obb", "--data.seed=-1"}, `it must be an integer from 0 to 18446744073709551615`},
		{"number in quotes", "task: obb\noptim:\n  lr: \"0.1\"\n", nil, "run.yaml:3: optim.lr has a value of another kind"},
		{"number for text", "task: obb\nrun:\n  dir: 5\n", nil, "run.yaml:3: run.dir has a value of another kind; it must be text"},
		{"infinite", "task: obb\noptim:\n  ema_tau: .inf\n", nil, `run.yaml:3: optim.ema_tau is ".inf"; it must be a finite number above 0`},
		{"not a number", "", []string{"--task=obb", "--optim.lr=NaN"}, `optim.lr is "NaN"; it must be a finite number above 0`},
		{"boolean", "task: obb\nmodel:\n  capture_network: 1\n", nil, "run.yaml:3: model.capture_network has a value of another kind; it must be true, false or full"},
		{"boolean flag", "", []string{"--task=obb", "--trainer.strict=yes"}, `--trainer.strict: trainer.strict is "yes"; it must be true or false`},
		{"no value", "task: obb\ndevice:\n", nil, "run.yaml:2: device has a value of another kind; it must be one of host, cuda"},
		{"list", "task: obb\ndevice: [host]\n", nil, "run.yaml:2: device has a value"},
		{"twice", "task: obb\noptim:\n  lr: 1\noptim.lr: 2\n", nil, "run.yaml:4: optim.lr is set a second time, after line 3; remove one"},
		{"twice in a mapping", "task: obb\ntask: obb\n", nil, "run.yaml:2: not YAML: "},
		{"syntax", "task: obb\nmodel: {\n", nil, "not YAML: "},
		{"two documents", "task: obb\n---\ntask: pose\n", nil, "run.yaml:3: a second document begins"},
		{"no mapping", "obb\n", nil, "run.yaml:1: expected keys with values"},
		{"no plain key", "7: 1\n", nil, `run.yaml:1: "7" is not a key; write a plain name`},
		{"text for a number", "task: obb\noptim:\n  lr: fast\n", nil, `run.yaml:3: optim.lr is "fast"; it must be a finite number above 0`},
		{"task missing", "model:\n  scale: n\n", nil, "task is not set; set it in the file or by --task to one of detect, obb, pose, segment"},
		{"task unknown", "task: keypoints\n", nil, `run.yaml:1: task is "keypoints"; it must be one of detect, obb, pose, segment`},
		{"keypoints missing", "task: pose\n", nil, "model.keypoints is not set for task pose; set it in the file or by --model.keypoints to an integer from 1 to 1024"},
		{"heads of detect", "task: detect\nmodel:\n  capture_segment_heads: true\n", nil, "run.yaml:3: model.capture_segment_heads applies to task segment only, and the task is detect; remove it"},
		{"heads of obb", "", []string{"--task=obb", "--model.capture_segment_heads"}, "--model.capture_segment_heads: model.capture_segment_heads applies to task segment only"},
		{"heads of pose", "", []string{"--task=pose", "--model.keypoints=1", "--model.capture_segment_heads"}, "applies to task segment only"},
		{"gain of another task", "task: obb\nloss:\n  mask_gain: 1\n", nil, "run.yaml:3: loss.mask_gain applies to task segment only"},
		{"half on the host", "task: obb\ntrainer:\n  precision: bf16\n", nil, "run.yaml:3: trainer.precision is bf16, which needs device cuda, and the device is host"},
		{"double on cuda", "", []string{"--task=obb", "--device=cuda", "--trainer.precision=float64"}, "--trainer.precision: trainer.precision is float64, which needs device host"},
		{"too large", strings.Repeat("#", maximumFile+1), nil, "larger than 16384 bytes"},
		{"deep", strings.Repeat("[", maximumFile), nil, "run.yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.text, test.arguments...)
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"), pflag.NewFlagSet("", pflag.ContinueOnError))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// An option that is off has no effect anywhere, so saying so is no error.
func TestInapplicableDefaultsAreAccepted(t *testing.T) {
	s, err := load(t, "task: detect\nmodel:\n  capture_segment_heads: false\nloss:\n# nothing here\n")
	require.NoError(t, err)
	require.False(t, s.Model.CaptureSegmentHeads)
}

func TestWrittenSettingsReadTheSame(t *testing.T) {
	for _, arguments := range [][]string{
		{"--task=detect"},
		{"--task=segment", "--model.capture_segment_heads", "--optim.lr=1e-300", "--optim.lrf=1e+300", "--run.dir=a: #'\"\\\n\tb", "--run.resume=true"},
		{"--task=pose", "--model.keypoints=17", "--optim.weight_decay=0.30000000000000004", "--data.seed=18446744073709551615", "--run.resume=1e3"},
		{"--task=obb", "--device=cuda", "--trainer.precision=bf16", "--trainer.gradient_clip=0", "--optim.ema_tau=2e6"},
	} {
		want, err := load(t, "", arguments...)
		require.NoError(t, err)
		text, err := want.YAML()
		require.NoError(t, err)
		got, err := load(t, string(text))
		require.NoError(t, err, "%s", text)
		got.given = want.given // the file names every key
		require.Equal(t, want, got)
		again, err := got.YAML()
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	}
}

func TestWrittenSettingsAreSortedAndOfTheTask(t *testing.T) {
	s, err := load(t, "task: obb\n")
	require.NoError(t, err)
	text, err := s.YAML()
	require.NoError(t, err)
	var order []string
	for _, line := range strings.Split(string(text), "\n") {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			order = append(order, name)
		}
	}
	require.Equal(t, []string{"data", "device", "loss", "model", "optim", "run", "task", "trainer"}, order)
	require.Contains(t, string(text), "angle_gain: 0.25")
	require.NotContains(t, string(text), "mask_gain")
	require.NotContains(t, string(text), "capture_segment_heads")
}

// Invariant I9 and field case LC-10: what a checkpoint keeps of the settings
// does not depend on how the fit is executed.
func TestHyperParametersDoNotDependOnExecution(t *testing.T) {
	plain, err := load(t, "", "--task=segment")
	require.NoError(t, err)
	other, err := load(t, "", "--task=segment", "--model.capture_network", "--model.capture_segment_heads", "--model.capture_optimizer",
		"--trainer.strict", "--run.dir=elsewhere", "--run.resume=x", "--data.workers=7")
	require.NoError(t, err)
	require.NotEqual(t, plain, other)
	require.Equal(t, plain.HyperParameters(), other.HyperParameters())
	require.Equal(t, "0.01", plain.HyperParameters()["optim.lr"])
	require.Equal(t, "segment", plain.HyperParameters()["task"])
	for _, argument := range []string{"--loss.mask_gain=3", "--trainer.accumulate_warmup_epochs=1.5"} {
		changed, err := load(t, "", "--task=segment", argument)
		require.NoError(t, err)
		require.NotEqual(t, plain.HyperParameters(), changed.HyperParameters(), argument)
	}
}

func TestFlagHelp(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Register(flags)
	usage := flags.FlagUsages()
	require.Contains(t, usage, "--data.img_size int")
	require.Contains(t, usage, "side of the square input in pixels; a multiple of 32 from 32 to 8192; obb: default 1024 (default 640)")
	require.Contains(t, usage, "segment only")
	require.Contains(t, usage, "epochs over which trainer.accumulate grows linearly from 1, fractions allowed, 0 for none; a finite number of at least 0")
	flags.VisitAll(func(f *pflag.Flag) { require.NotNil(t, find(f.Name)) })
}

func FuzzReadFile(f *testing.F) {
	f.Add("task: obb\noptim:\n  lr: 0.1\n")
	f.Add("a: &x [1, *x]\n? {b: c}\n: !!int 3\n")
	f.Add("optim: {lr: 1e-3, <<: {}}\n--- |\n text")
	path := filepath.Join(f.TempDir(), "fuzz.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		allocation.AtMost(t, allocation.PerByte, len(text), func() { _, _ = readFile(path) }) // must return
	})
}

// The defaults follow the scale, as those of a fit do that names none.
func TestDefaultHyperParameters(t *testing.T) {
	s, err := Defaults("segment")
	require.NoError(t, err)
	s.Model.Scale, s.Optim.LR = "l", 3
	defaults := s.DefaultHyperParameters()
	require.Equal(t, "0.5", defaults["data.copy_paste"])
	require.NotEqual(t, s.HyperParameters()["optim.lr"], defaults["optim.lr"])
	require.Len(t, defaults, len(s.HyperParameters()))
}
