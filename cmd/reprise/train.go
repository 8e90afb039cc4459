package main

import (
	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/internal/run"
)

// newTrainCommand makes the command that trains.
func newTrainCommand() *cobra.Command { return run.Command(networkOf) }

// networkOf finds the network of the settings: a generated package when there
// is one, else the same plan built in memory.
func networkOf(s *config.Settings) (run.Network, error) {
	network := run.Network{Task: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Keypoints: s.Model.Keypoints}
	found, err := inspect.FindNetwork(s.Task)
	if err != nil {
		return network, err
	}
	scale, err := inspect.FindScale(s.Model.Scale)
	if err != nil {
		return network, err
	}
	for _, definition := range found.Define(inspect.Model{Scale: scale, Classes: s.Model.Classes, Keypoints: s.Model.Keypoints}) {
		network.Plans = append(network.Plans, func() (*ir.Stage, error) {
			defined, err := definition.Build()
			if err != nil {
				return nil, err
			}
			return pass.Run(defined, nil)
		})
	}
	return network, nil
}
