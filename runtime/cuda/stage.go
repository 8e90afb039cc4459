//go:build cuda

package cuda

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/gen/image/archive"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// stage implements device.Stage.
type stage struct {
	device    *Device
	plan      *ir.Stage
	precision device.Precision
	generated Generated

	narrow *kernels // 32-bit indices
	wide   *kernels // 64-bit indices; nil until sizes need them
	image  *archive.Image

	block  *block // parameters, gradients and buffers
	layout *layout

	parameters, gradients, buffers []device.Tensor

	bindings int
	closed   bool
}

// load prepares everything that does not depend on sizes. It runs on the thread.
func (s *stage) load() error {
	switch s.precision {
	case device.FP32, device.FP16, device.BF16:
	default:
		return fmt.Errorf("CUDA device cannot run stage %s in %s; use %s, %s or %s", s.plan.Name, s.precision, device.FP32, device.FP16, device.BF16)
	}
	var err error
	if s.image, err = s.generated.image(); err != nil {
		return err
	}
	if s.narrow, err = s.loadKernels(false); err == nil {
		err = s.place()
	}
	if err != nil {
		return errors.Join(err, s.release())
	}
	return nil
}

// place makes the persistent memory, every byte zero, and opens its tensors.
func (s *stage) place() error {
	for i := range s.plan.Storages {
		if st := &s.plan.Storages[i]; persistent(st.Space) {
			if _, constant := st.Size.Constant(); !constant {
				return fmt.Errorf("stage %s: storage %s has size %s, which must not depend on the batch", s.plan.Name, st.Name, st.Size)
			}
		}
	}
	// Sizes of other storages are evaluated too, at the smallest sizes there are.
	smallest := ir.Sizes{Batch: 1, Height: max(s.plan.Multiple.Height, 1), Width: max(s.plan.Multiple.Width, 1)}
	var err error
	if s.layout, err = newLayout(s.plan, s.precision, smallest); err != nil {
		return s.named(err)
	}
	s.layout.place(persistent)
	if s.block, err = s.device.allocate(s.layout.bytes); err != nil {
		return s.named(err)
	}
	if err := s.block.set(0, s.layout.bytes, 0); err != nil {
		return s.named(err)
	}
	return s.named(s.tensors())
}

// tensors opens the tensors of the plan's tables and makes room to stage them.
func (s *stage) tensors() error {
	open := func(list *[]device.Tensor, name string, ref ir.Ref) error {
		if ref == 0 {
			*list = append(*list, nil)
			return nil
		}
		t, err := s.open(name, ref)
		if err != nil {
			return err
		}
		*list = append(*list, t)
		return s.device.staging.grow(t.bytes())
	}
	for _, p := range s.plan.Parameters {
		if err := errors.Join(open(&s.parameters, p.Name, p.Tensor), open(&s.gradients, p.Name, p.Gradient)); err != nil {
			return err
		}
	}
	for _, b := range s.plan.Buffers {
		if err := open(&s.buffers, b.Name, b.Tensor); err != nil {
			return err
		}
	}
	return nil
}

// open opens a tensor in the stage's own memory.
func (s *stage) open(name string, ref ir.Ref) (*tensor, error) {
	at := s.plan.Tensor(ref).Storage - 1
	if at < 0 || !persistent(s.plan.Storages[at].Space) {
		return nil, fmt.Errorf("tensor of %s has no memory of its stage", name)
	}
	return openTensor(s.device, s.plan, s.precision, name, ref, ir.Sizes{}, s.block.address+cu.DevicePtr(s.layout.offsets[at]), s.layout.sizes[at])
}

// Plan implements device.Stage.
func (s *stage) Plan() *ir.Stage { return s.plan }

// Parameter implements device.Stage.
func (s *stage) Parameter(i int) device.Tensor { return s.parameters[i] }

// Gradient implements device.Stage.
func (s *stage) Gradient(i int) device.Tensor { return s.gradients[i] }

// Buffer implements device.Stage.
func (s *stage) Buffer(i int) device.Tensor { return s.buffers[i] }

// Close implements device.Stage.
func (s *stage) Close() error {
	if s.closed {
		return fmt.Errorf("stage %s is already closed", s.plan.Name)
	}
	if s.bindings > 0 {
		return fmt.Errorf("stage %s still has %d open bindings; close them first", s.plan.Name, s.bindings)
	}
	s.closed = true
	s.device.opened(-1)
	return s.named(s.device.thread.do(s.release))
}

// release gives back what load took, as far as it came.
func (s *stage) release() error {
	err := errors.Join(s.block.free(), s.wide.unload(), s.narrow.unload())
	s.block, s.wide, s.narrow = nil, nil, nil
	return err
}

func (s *stage) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("stage %s: %w", s.plan.Name, err)
}
