package optim

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
)

// A device without kernels of the optimizer asks for its definition; one whose
// image lacks its precision says why that is FP32 in a fit of 16 bits.
func TestExplain(t *testing.T) {
	missing := fmt.Errorf("load: %w", &device.NotGeneratedError{Stage: "optimizer", Digest: "0123456789abcdef"})
	err := explain(missing, "optimizer", 5)
	require.ErrorIs(t, err, missing)
	require.EqualError(t, err, "load: stage optimizer: the program holds no CUDA code for plan 0123456789ab; import the package that was generated from it, or generate it again "+
		`(the optimizer is a stage of its own, whose kernels are generated: declare it by musgd.Define("optimizer", 5, <the network's stages>) and run go generate)`)
	err = explain(errors.New("no fp32 kernels"), "optimizer", 5)
	require.EqualError(t, err, "no fp32 kernels (the optimizer is a stage of its own and computes in FP32, whatever the precision of the network)")
}
