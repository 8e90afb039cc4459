// Package verify runs a network against reference values (package golden):
// single passes, and training trajectories step by step. It runs plans built
// in memory, by the same code that generated packages run.
package verify
