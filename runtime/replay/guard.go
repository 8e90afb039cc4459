package replay

import (
	"fmt"
	"slices"
)

// Scope says for how long a guard that fails keeps a stage native.
type Scope string

// The scopes.
const (
	ForCall      Scope = "call"
	ForStep      Scope = "step"
	WhilePresent Scope = "while present"
	FromThenOn   Scope = "from then on"
	ForFit       Scope = "fit"
)

// ends tells whether a guard of the scope, once failed, fails for good.
func (s Scope) ends() bool { return s == FromThenOn || s == ForFit }

// Guard is one condition that a call must meet to be replayed.
type Guard struct {
	ID    string // as in the recording contract, section 4
	Scope Scope
	Holds string // what is true when the guard lets a call through

	fails func(s *Stage, c *call) string
}

// Reason is why a call ran natively.
type Reason struct {
	Guard string `json:"guard"`
	Scope Scope  `json:"scope"`
	Text  string `json:"text"`
}

const (
	reasonPartialBatch = "partial batch"
	reasonEvaluation   = "evaluation"
)

// Guards lists the conditions in the order in which they are checked before
// every replay; the first that fails is the reason. Evaluation comes first
// because it is native in every fit and never a fallback.
func Guards() []Guard { return slices.Clone(guards) }

var guards []Guard

// The table refers to methods that consult it, so it is filled here.
func init() {
	guards = []Guard{
		{"G9", ForCall, "the call trains", failEvaluation},
		{"G1", ForFit, "capture is on", failOption},
		{"G1", ForFit, "one device trains", failDevices},
		{"G1", ForFit, "optimisation is automatic", failManual},
		{"G1", ForFit, "a recording can hold the stage", failUnrecordable},
		{"G2", ForFit, "no accumulation in the whole fit", failAccumulation},
		{"G3", ForFit, "the device replays the precision", failPrecision},
		{"G4", ForStep, "the call has the signature of the fit", failSignature},
		{"G5", FromThenOn, "the same parameters train", failTrainable},
		{"G6", FromThenOn, "the head is the one that was recorded", failChanged},
		{"G7", FromThenOn, "the objective is the task's own", failObjective},
		{"G8", WhilePresent, "no observer is registered", failObserved},
		{"G10", ForFit, "recording and replay have not failed", failFailed},
	}
}

// call is what the guards look at besides the state of stage and fit.
type call struct {
	evaluation bool
	signature  Signature
}

// firstReason gives the reason of the first guard that fails, nil when the call
// may be replayed. A guard that fails for good ends the stage's recording.
func (s *Stage) firstReason(c *call) *Reason {
	for _, g := range guards {
		if text := g.fails(s, c); text != "" {
			if g.Scope.ends() {
				s.release()
			}
			return &Reason{Guard: g.ID, Scope: g.Scope, Text: text}
		}
	}
	return nil
}

// refusal is the error of the strict policy for the reason of a training pass;
// nil when the policy lets the pass run natively.
func (s *Stage) refusal(reason *Reason) error {
	if reason == nil || !s.options.Capture || !s.fit.settings.Strict {
		return nil
	}
	return fmt.Errorf("stage %s: strict: the call cannot be replayed: %s (%s); remove the cause, or turn strict off", s.plan.Name, reason.Text, reason.Guard)
}

func failEvaluation(_ *Stage, c *call) string {
	if c.evaluation {
		return reasonEvaluation
	}
	return ""
}

func failOption(s *Stage, _ *call) string {
	if !s.options.Capture {
		return s.optionName() + " off"
	}
	return ""
}

func failDevices(s *Stage, _ *call) string {
	if n := s.fit.settings.Devices; n > 1 {
		return fmt.Sprintf("distributed over %d devices", n)
	}
	return ""
}

func failManual(s *Stage, _ *call) string {
	if s.fit.settings.Manual {
		return "manual optimisation"
	}
	return ""
}

func failUnrecordable(s *Stage, _ *call) string {
	if s.plan.Unrecordable != "" {
		return "stage cannot be recorded: " + s.plan.Unrecordable
	}
	return ""
}

func failAccumulation(s *Stage, _ *call) string {
	if n := s.fit.settings.Accumulate; n > 1 {
		return fmt.Sprintf("gradient accumulation %d", n)
	}
	return ""
}

func failPrecision(s *Stage, _ *call) string {
	info := s.fit.dev.Info()
	if !slices.Contains(info.Precisions, s.options.Precision) {
		return fmt.Sprintf("precision %s cannot be replayed on %s", s.options.Precision, info.Name)
	}
	return ""
}

func failSignature(s *Stage, c *call) string {
	if s.signature == nil {
		return reasonPartialBatch // only a batch that is not full leaves the fit without one
	}
	return s.signature.difference(c.signature)
}

func failTrainable(s *Stage, _ *call) string { return s.retrained }

func failChanged(s *Stage, _ *call) string {
	if s.changed == "" {
		return ""
	}
	return "head changed: " + s.changed
}

func failObjective(s *Stage, _ *call) string {
	if s.objective == "" {
		return ""
	}
	return "objective overridden: " + s.objective
}

func failObserved(s *Stage, _ *call) string {
	if len(s.observers)+len(s.fit.observers) == 0 {
		return ""
	}
	return "observer registered"
}

func failFailed(s *Stage, _ *call) string { return s.fit.failure }
