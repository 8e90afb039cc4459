package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Contract I11: every decision is visible, also before the first step.
func TestExplainBeforeTheFirstStep(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings Settings
		options  StageOptions
		change   func(*rig)
		guard    string
		text     string
	}{
		{name: "recorded", options: capture},
		{name: "off", options: StageOptions{Option: "capture_network"}, guard: "G1", text: "capture_network off"},
		{name: "accumulation", settings: Settings{Accumulate: 4}, options: capture, guard: "G2", text: "gradient accumulation 4"},
		{name: "objective", options: capture, change: func(r *rig) { r.stage.SetObjectiveReplaced("mine") }, guard: "G7", text: "objective overridden: mine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.settings, c.options)
			if c.change != nil {
				c.change(r)
			}
			got := r.fit.Explain()
			require.Len(t, got, 1)
			require.Equal(t, "pair", got[0].Stage)
			require.Positive(t, got[0].Forward)
			require.Positive(t, got[0].Backward)
			require.Equal(t, c.guard == "", got[0].Recorded)
			if c.guard != "" {
				require.Equal(t, c.guard, got[0].Reason.Guard)
				require.Equal(t, c.text, got[0].Reason.Text)
				require.Contains(t, got.String(), c.text)
			}
			require.Zero(t, r.fit.Report().Stages[0].Recorded, "explaining records nothing")
		})
	}
}
