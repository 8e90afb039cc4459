//go:build cuda

package cudasim_test

import "testing"

func TestCUDAManyFits(t *testing.T) {
	manyFits(t, scaled(3, 200), openCUDA)
	aliveNothing(t)
}

func TestCUDABusy(t *testing.T) {
	busy(t, openCUDA)
	aliveNothing(t)
}

func TestCUDATwoFits(t *testing.T) {
	twoFits(t, openCUDA)
	aliveNothing(t)
}

func TestCUDAManyReplays(t *testing.T) {
	manyReplays(t, scaled(100, 10000), openCUDA)
	aliveNothing(t)
}
