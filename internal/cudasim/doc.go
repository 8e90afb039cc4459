// Package cudasim controls the simulated CUDA driver of the tests: faults on
// demand, what it found, and what is alive. README.md explains the simulator;
// with a real driver in its place, Present is false and nothing else may be
// called.
package cudasim
