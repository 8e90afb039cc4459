package device

import "fmt"

// NotGeneratedError tells that a device runs generated kernels and the program has
// none for a plan.
type NotGeneratedError struct{ Stage, Digest string }

func (e *NotGeneratedError) Error() string {
	return fmt.Sprintf("stage %s: the program holds no CUDA code for plan %.12s; import the package that was generated from it, or generate it again", e.Stage, e.Digest)
}
