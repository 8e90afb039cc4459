package run

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/config"
)

// Network is the network of a fit as generated: a task at one scale and class
// count, and the plans of its stages in the order in which they run. Objective
// trains it; its zero value is that of the task.
type Network struct {
	Task      string
	Scale     string
	Classes   int
	Keypoints int
	Plans     []func() (*ir.Stage, error)
	Objective catalog.Construction
}

// plans loads the plans of a network, after checking that the settings ask for
// this network.
func (n Network) plans(s *config.Settings) ([]*ir.Stage, error) {
	if n.Task != s.Task || n.Scale != s.Model.Scale || n.Classes != s.Model.Classes || n.Keypoints != s.Model.Keypoints {
		return nil, fmt.Errorf("the generated network is %s, the settings ask for %s; change model.scale and model.classes, or generate that network with reprise new",
			describe(n.Task, n.Scale, n.Classes, n.Keypoints), describe(s.Task, s.Model.Scale, s.Model.Classes, s.Model.Keypoints))
	}
	var out []*ir.Stage
	for _, load := range n.Plans {
		plan, err := load()
		if err != nil {
			return nil, err
		}
		out = append(out, plan)
	}
	return out, nil
}

func describe(task, scale string, classes, keypoints int) string {
	text := fmt.Sprintf("%s at scale %s with %d classes", task, scale, classes)
	if keypoints > 0 {
		text += fmt.Sprintf(" and %d keypoints", keypoints)
	}
	return text
}
