package replay

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Invariant I11: every decision is visible, for people and for programs.
func TestReport(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	_, err := r.fit.AddStage(pairPlan("heads"), StageOptions{})
	require.NoError(t, err)
	for _, batch := range []int{2, 2, 1} {
		_, err := r.stage.Forward([]Source{image(1, batch, 2)})
		require.NoError(t, err)
	}
	_, err = r.stage.Evaluate([]Source{image(1, 2, 2)})
	require.NoError(t, err)
	r.stage.MarkChanged("extra branch")
	r.run(image(1, 2, 2))

	require.Equal(t, `fit on fake, fp32
stage  asked  recorded  replayed  native  kernel launches  graph launches  reasons
pair   yes    1         2         3       11               2               evaluation 1, partial batch 1, head changed: extra branch 1, replayed forward only 2
heads  no     0         0         0       0                0               
`, r.fit.Report().String())

	data, err := json.Marshal(r.fit.Report().Stages[0])
	require.NoError(t, err)
	require.Equal(t, `{"name":"pair","asked":true,"recorded":1,"replayed":2,"forwardOnly":2,"native":3,"partial":1,"reasons":[`+
		`{"guard":"G9","scope":"call","text":"evaluation","calls":1},`+
		`{"guard":"G4","scope":"step","text":"partial batch","calls":1},`+
		`{"guard":"G6","scope":"from then on","text":"head changed: extra branch","calls":1}],`+
		`"kernelLaunches":11,"graphLaunches":2}`, string(data))
	r.close()

	silent := newRig(t, Settings{Manual: true}, capture)
	silent.step(1)
	require.Contains(t, silent.fit.Report().String(), "\nwarning: capture_network was asked for but nothing of stage pair was replayed: manual optimisation\n")
	silent.close()
}
