//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/gen/image/archive"
	"github.com/reprise-ml/reprise/runtime/device"
)

// kernels are the functions of a stage in one precision and index width, in the
// order of its wrapper's table.
type kernels struct {
	device    *Device
	modules   []cu.Module
	functions []cu.Function
	wait      bool // each for the launch before on its stream, by itself
	reserved  int64
}

// variant is the precision in the names of kernels.
func (s *stage) variant() string {
	if s.precision == device.FP32 && s.device.options.TF32 {
		return "tf32"
	}
	return string(s.precision)
}

// loadKernels loads the modules of the image and finds every kernel, so that
// nothing is loaded by the first launch (field case CT-06).
func (s *stage) loadKernels(wide bool) (*kernels, error) {
	k := &kernels{device: s.device}
	var err error
	start := time.Now()
	k.reserved, err = s.device.reserving(func() error { return s.findKernels(k, wide) })
	if err != nil {
		return nil, errors.Join(err, k.unload())
	}
	took := time.Since(start)
	s.device.count(func(c *device.Counters) {
		c.Reserved += k.reserved
		c.Loading += took
	})
	return k, nil
}

func (s *stage) findKernels(k *kernels, wide bool) error {
	target, err := s.device.capability.target(s.image.Targets)
	if err != nil {
		return s.refused(err)
	}
	k.wait = archive.Waits(target) && s.device.startsEarly
	missing, err := s.loadModules(k, wide, func(m archive.Module) bool {
		return m.Target == target && m.Precision == s.variant() && m.Wide == wide
	})
	if err == nil && missing > 0 {
		err = s.generated.lacks(s.variant(), wide)
	}
	return err
}

// loadModules gives the driver the wanted modules of the image one by one and asks
// for the kernels of each, while later ones are decompressed: the driver never
// waits but for the first. It tells how many kernels of the table are in none.
func (s *stage) loadModules(k *kernels, wide bool, wanted func(archive.Module) bool) (missing int, err error) {
	ready, end := make(chan archive.Module, len(s.image.Modules)), make(chan error, 1)
	go func() {
		end <- s.image.Each(wanted, func(m archive.Module) { ready <- m })
		close(ready)
	}()
	table := s.tableOf(wide)
	k.functions = make([]cu.Function, len(table))
	for m := range ready {
		module, err := cu.LoadData(unsafe.String(unsafe.SliceData(m.Data), len(m.Data)))
		if err != nil {
			return 0, s.refused(err)
		}
		k.modules = append(k.modules, module)
		for _, name := range m.Kernels {
			at, used := table[name]
			if !used {
				continue
			}
			if k.functions[at.index], err = s.function(module, name, at.shared); err != nil {
				return 0, err
			}
			delete(table, name)
		}
	}
	if err := <-end; err != nil {
		return 0, fmt.Errorf("stage %s: kernel image %s: %w; build it again", s.plan.Name, s.generated.Image, err)
	}
	return len(table), nil
}

// place is where a kernel stands in the wrapper's table, and how many bytes of
// shared memory its launches ask for.
type place struct {
	index  int
	shared C.int32_t
}

// tableOf is the wrapper's table of kernels by their names in the image.
func (s *stage) tableOf(wide bool) map[string]place {
	suffix := "_" + s.variant()
	if wide {
		suffix += "_wide"
	}
	w := s.generated.wrapper()
	shared := unsafe.Slice(w.kernel_shared, int(w.kernels))
	table := make(map[string]place, len(shared))
	for i, base := range unsafe.Slice(w.kernel_name, int(w.kernels)) {
		table[C.GoString(base)+suffix] = place{i, shared[i]}
	}
	return table
}

// function finds a kernel, which the driver loads then.
func (s *stage) function(module cu.Module, name string, shared C.int32_t) (cu.Function, error) {
	f, err := module.Function(name)
	if err != nil {
		return f, s.named(wrap("kernel "+name, err))
	}
	if s.precision != device.FP32 {
		if err := allowShared(f, shared); err != nil {
			return f, s.named(fmt.Errorf("kernel %s: %w", name, err))
		}
	}
	return f, nil
}

// sharedWithoutRequest is how many bytes of shared memory any launch may have.
const sharedWithoutRequest = 48 << 10

// allowShared lets a kernel have the dynamic shared memory that its launches ask
// for, in bytes.
func allowShared(function cu.Function, bytes C.int32_t) error {
	if bytes <= sharedWithoutRequest {
		return nil
	}
	kernel := *(*C.CUfunction)(unsafe.Pointer(&function))
	if s := status(C.reprise_allow_shared(kernel, C.int(bytes))); s != C.CUDA_SUCCESS {
		return fmt.Errorf("the device does not give a block %d bytes of shared memory: %w; use a device of compute capability 8.0 or more", int(bytes), s)
	}
	return nil
}

// refused explains why the driver did not take a module (field case CG-17).
func (s *stage) refused(err error) error {
	what := fmt.Sprintf("stage %s: %s, made by %s for %v, cannot be loaded on %s", s.plan.Name, s.generated.Image, s.image.Compiler, s.image.Targets, s.device.info.Name)
	switch code, _ := statusOf(err); code {
	case C.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, C.CUDA_ERROR_INVALID_PTX, C.CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
		return wrap(what+"; install a newer driver, or build the image with an older toolkit", err)
	case C.CUDA_ERROR_NO_BINARY_FOR_GPU:
		return wrap(what+"; compute capability 8.0 is the least that kernels are written for", err)
	}
	return wrap(what, err)
}

// unload gives back the modules.
func (k *kernels) unload() error {
	if k == nil {
		return nil
	}
	k.device.count(func(c *device.Counters) { c.Reserved -= k.reserved })
	k.reserved = 0
	var errs []error
	for _, m := range k.modules {
		errs = append(errs, wrap("kernels could not be released", m.Unload()))
	}
	k.modules = nil
	return errors.Join(errs...)
}

// bind writes the functions into a context, and how they may be launched.
func (k *kernels) bind(c *C.struct_reprise_context) {
	c.kernels_wait = 0
	if k.wait {
		c.kernels_wait = 1
	}
	to := unsafe.Slice((*cu.Function)(unsafe.Pointer(c.kernel)), len(k.functions))
	copy(to, k.functions)
}
