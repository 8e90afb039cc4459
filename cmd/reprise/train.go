package main

import (
	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/networks"
	"github.com/reprise-ml/reprise/internal/run"
)

// newTrainCommand makes the command that trains.
func newTrainCommand() *cobra.Command { return run.Command(networkOf) }

// networkOf finds the network of the settings.
func networkOf(s *config.Settings) (run.Network, error) {
	network := run.Network{Task: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Keypoints: s.Model.Keypoints}
	plans, err := networks.Find(networks.Want{Task: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Keypoints: s.Model.Keypoints})
	network.Plans = plans
	return network, err
}
