// Package networks finds the network that a command asks for and builds its
// plans in memory: the same bytes that a generated package embeds. It imports
// no generated package, so that the command that generates them can be built
// when there are none; with the tag cuda it links them for their kernels, which
// the back end finds by the digest of the plan.
package networks

import (
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/internal/inspect"
)

// Plan loads the plan of one stage.
type Plan = func() (*ir.Stage, error)

// Want says which network is asked for.
type Want struct {
	Task      string
	Scale     string // letter
	Classes   int
	Keypoints int // of an object; 0 for a task without
}

// Find gives the plans of a network's stages in the order in which they run.
func Find(w Want) ([]Plan, error) {
	definitions, err := definitionsOf(w)
	if err != nil {
		return nil, err
	}
	var plans []Plan
	for _, d := range definitions {
		plans = append(plans, inMemory(d))
	}
	return plans, nil
}

func definitionsOf(w Want) ([]*stage.Definition, error) {
	network, err := inspect.FindNetwork(w.Task)
	if err != nil {
		return nil, err
	}
	scale, err := inspect.FindScale(w.Scale)
	if err != nil {
		return nil, err
	}
	return network.Define(inspect.Model{Scale: scale, Classes: w.Classes, Keypoints: w.Keypoints}), nil
}

// inMemory builds the plan that a generated package would embed.
func inMemory(d *stage.Definition) Plan {
	return func() (*ir.Stage, error) {
		defined, err := d.Build()
		if err != nil {
			return nil, err
		}
		return pass.Run(defined, nil)
	}
}
