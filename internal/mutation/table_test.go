package mutation

// mutation takes a mechanism away: old, which file holds once, becomes new, and
// test of pkg must fail.
type mutation struct {
	name, file, old, new, pkg, test string
}

const (
	fits    = "./internal/contract"
	trainer = "./internal/trainer"
	guards  = "runtime/replay/guard.go"

	sequences = "./internal/fuzz"
)

// mutations are the rows of contract section 5 in order, then the guards of
// section 4 and what else has only a test to defend it.
var mutations = []mutation{
	{"5.1 a replay runs every launch", "runtime/host/recording.go",
		"range r.launches {", "range r.launches[1:] {", fits, "TestEveryWayIsTheSameFit/detect"},
	{"5.2 a step is a replay", "runtime/replay/recording.go",
		"	if reason == nil {\n		var err error", "	if reason == nil {\n		reason = &Reason{Guard: \"G10\"}\n	}\n	if reason == nil {\n		var err error",
		fits, "TestEveryWayIsTheSameFit/detect"},
	{"5.3 what a pattern leaves out is absent", "runtime/replay/backward.go",
		"range b.Parameters {", "range plan.Backward[pattern*0].Parameters {\n\t\t\t_ = b", fits, "TestAnEmptyBatchTensorByTensor/pose"},
	{"5.3 the pattern of the step is chosen", "runtime/replay/backward.go",
		"device.BackwardOf(pattern)", "device.BackwardOf(pattern*0)", "./internal/verify", "TestTrajectories/pose"},
	{"5.4 the trainer tells of a replaced objective", "internal/trainer/learner.go",
		"replaced := l.objective.Replaced(); replaced {", "replaced := l.objective.Replaced(); replaced && false {", trainer, "TestObjectiveReplaced|TestObjectiveWithoutAngles"},
	{"5.5 a full batch after a partial one replays", "runtime/replay/forward.go",
		"return &s.bindings.other\n", "return &s.bindings.primary\n", fits, "TestEveryWayIsTheSameFit/detect"},
	{"5.7 an overflow skips the step", "internal/optim/update.go",
		"if !outcome.Overflow {", "if true {", fits, "TestOverflowSkipsStepsAndRecovers"},
	{"5.7 the loss scale enters by the cotangents", "internal/trainer/learner.go",
		"factor *= l.update.Scaler.Scale()", "factor *= 1", fits, "TestOverflowSkipsStepsAndRecovers"},
	{"5.8 gradients are clipped", "internal/optim/update.go",
		"if u.Clip > 0 {", "if false {", "./internal/optim", "TestUpdateClips"},
	{"5.8 validation gives the raw model back", "internal/trainer/validate.go",
		"defer func() { err = errors.Join(err, f.swap()) }()", "defer func() { err = errors.Join(err) }()", fits, "TestValidationLeavesNoTrace"},
	{"5.8 validation has memory of its own", "runtime/replay/forward.go",
		"s.bind(&s.bindings.evaluation, ", "s.bind(&s.bindings.primary, ", fits, "TestEveryWayIsTheSameFit/detect"},
	{"5.8 momentum is resumed", "internal/trainer/state.go",
		"Optimizer.Restore(momentum)", "Optimizer.Restore(momentum[:0])", fits, "TestResumeInAnotherWay/pose"},
	{"5.8 the average is resumed", "internal/trainer/state.go",
		"EMA.Restore(shadow, *s.Meta.EMA)", "EMA.Restore(shadow, optim.EMACounters{})", fits, "TestResumeInAnotherWay/pose"},
	{"5.9 recordings end with the fit", "runtime/replay/fit.go",
		"errs = append(errs, s.closeRecording())", "_ = s", fits, "TestEveryWayIsTheSameFit/detect"},
	{"5.9 recordings end with a failure", "runtime/replay/fit.go",
		"		other.release()\n", "		_ = other\n", "./runtime/replay", "TestRecordingFails|TestReplayFails|TestFailuresKeepTheFit"},
	{"5.9 a cancelled fit is saved", "internal/trainer/fit.go",
		"return errors.Join(err, f.Save())", "return err", trainer, "TestCancelled"},
	{"5.10 memory of masks grows with the demand", "tasks/segment/objective/mask.go",
		"if cap(values) < n {", "if values == nil {", "./tasks/segment/objective", "TestChangingMaskDemand"},

	{"G1 option", guards, "if !s.options.Capture {", "if false {", fits, "TestGuards/pose/G1"},
	{"G1 devices", guards, "Devices; n > 1 {", "Devices; n > 99 {", fits, "TestTrainersThatCannotReplay/detect"},
	{"G1 manual", guards, "if s.fit.settings.Manual {", "if false {", fits, "TestTrainersThatCannotReplay/detect"},
	{"G1 unrecordable", guards, `if s.plan.Unrecordable != "" {`, "if false {", "./runtime/replay", "TestGuardsForTheFit/unrecordable"},
	{"G2 accumulation", guards, "Accumulate; n > 1 {", "Accumulate; n > 99 {", fits, "TestGuards/pose/G2"},
	{"G2 a warm-up counts with its end", "internal/trainer/fit.go", "Accumulate: f.options.Accumulate, //", "Accumulate: 1, //", trainer, "TestAccumulationWarmupIsNative"},
	{"accumulation grows", "internal/optim/accumulate.go", "if batch >= a.warmup {", "if true {", trainer, "TestAccumulationWarmupScales"},
	{"a checkpoint stands where the steps have led", "internal/trainer/state.go", "f.learner.accumulation.Batches(s.Meta.Step)", "s.Meta.Step*f.options.Accumulate", trainer, "TestResumeInTheAccumulationWarmup"},
	{"a growing accumulation is resumed", "internal/trainer/state.go", "s.Meta.Step, s.Meta.Pending); err", "0*s.Meta.Step, s.Meta.Pending); err", trainer, "TestResumeInTheAccumulationWarmup"},
	{"G3 precision", guards, "if !slices.Contains(info.Precisions, s.options.Precision) {", "if false {", fits, "TestGuards/pose/G3"},
	{"G4 signature", guards, "return s.signature.difference(c.signature)", `return ""`, fits, "TestGuards/pose/G4"},
	{"G5 trainability", guards, "return s.retrained }", `return "" }`, fits, "TestGuards/pose/G5"},
	{"G6 head", guards, `if s.changed == "" {`, "if true {", fits, "TestGuards/pose/G6"},
	{"G7 objective", guards, `if s.objective == "" {`, "if true {", fits, "TestGuards/pose/G7"},
	{"G7 is explained before the first step", "internal/trainer/learner.go", "	l.objective = objective\n	l.guardObjective()\n", "	l.objective = objective\n", "./train", "TestRunWithAnotherObjective"},
	{"the constructor makes the objective", "internal/run/fit.go", "plans, r.Network.Objective)", "plans, catalog.Construction{})", "./train", "TestRunWithAnotherObjective|TestRunWithOtherOptions"},
	{"G8 observer", guards, "if len(s.observers)+len(s.fit.observers) == 0 {", "if true {", fits, "TestGuards/pose/G8"},
	{"G9 evaluation", guards, "if c.evaluation {", "if false {", fits, "TestValidationIsNative"},
	{"G10 failure", "runtime/replay/fit.go", "	f.failure = what\n", "", fits, "TestGuards/pose/G10"},

	{"G4 in random sequences", guards, "return s.signature.difference(c.signature)", `return ""`, sequences, "FuzzGuards"},
	{"G5 in random sequences", guards, "return s.retrained }", `return "" }`, sequences, "FuzzGuards"},
	{"G6 in random sequences", guards, `if s.changed == "" {`, "if true {", sequences, "FuzzGuards"},
	{"G7 in random sequences", guards, `if s.objective == "" {`, "if true {", sequences, "FuzzGuards"},
	{"G8 in random sequences", guards, "if len(s.observers)+len(s.fit.observers) == 0 {", "if true {", sequences, "FuzzGuards"},
	{"G9 in random sequences", guards, "if c.evaluation {", "if false {", sequences, "FuzzGuards"},

	{"strict", guards, "|| !s.fit.settings.Strict {", "|| true {", trainer, "TestStrict"},
	{"sticky errors end a fit", "runtime/replay/fit.go", "if device.IsSticky(cause) {", "if false {", trainer, "TestSticky"},
	{"sizes are divided twice", "gen/stage/tensor.go", "kind + sizeKinds*before*divisor", "kind + sizeKinds*max(0*before, 1)*divisor", "./gen/stage", "TestPartsOfOpenSizes"},
	{"only sizes are divided", "gen/stage/tensor.go", "if s >= 0 || s == Batch || divisor < 1 {", "if s >= 0 {", "./gen/stage", "TestPartsThatAreNoSizes"},
	{"a divided size comes out even", "gen/stage/ports.go", "return ir.Dim{}, fmt.Errorf(\"%s/%d does not come out even for every allowed size\", whole, divisor)", "return whole, nil", "./gen/stage", "TestPartsThatAreNoSizes"},
	{"leftovers are removed", "internal/run/folder.go", "number == \"\" ||", "true ||", "./internal/run", "TestLeftovers"},
}
