//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// staging is page-locked host memory through which everything passes on its way
// to and from the device. It has the length of the largest tensor of the tables
// of any stage, and grows only when a stage is loaded or bound, or when an
// observer reads something larger.
type staging struct {
	memory unsafe.Pointer
	bytes  int64
}

// grow makes the staging memory at least the given length.
func (s *staging) grow(bytes int64) error {
	if bytes <= s.bytes {
		return nil
	}
	if err := s.release(); err != nil {
		return err
	}
	var memory unsafe.Pointer
	if r := status(C.reprise_pinned_allocate(&memory, C.size_t(bytes))); r != C.CUDA_SUCCESS {
		return wrap(fmt.Sprintf("%d MiB of pinned host memory could not be allocated", bytes>>20), r)
	}
	s.memory, s.bytes = memory, bytes
	return nil
}

func (s *staging) release() error {
	if s.memory == nil {
		return nil
	}
	r := status(C.reprise_pinned_free(s.memory))
	s.memory, s.bytes = nil, 0
	if r != C.CUDA_SUCCESS {
		return wrap("pinned host memory could not be released", r)
	}
	return nil
}

// download brings the span of a tensor into the staging memory.
func (t *tensor) download() (unsafe.Pointer, error) {
	d := t.device
	if err := d.staging.grow(t.bytes()); err != nil {
		return nil, err
	}
	err := cu.MemcpyDtoHAsync(d.staging.memory, t.address, t.bytes(), d.stream)
	if err == nil {
		err = d.stream.Synchronize()
	}
	return d.staging.memory, wrap("read "+t.name, err)
}

// upload takes bytes from the staging memory to an address. The memory is free
// again when it returns.
func (d *Device) upload(what string, to cu.DevicePtr, bytes int64) error {
	err := cu.MemcpyHtoDAsync(to, d.staging.memory, bytes, d.stream)
	if err == nil {
		err = d.stream.Synchronize()
	}
	return wrap("write "+what, err)
}

// read copies a tensor into dst in row-major order of the shape.
func read[V value](t *tensor, dst []V) error {
	if err := t.checkLength(len(dst)); err != nil {
		return err
	}
	return t.device.thread.do(func() error {
		memory, err := t.download()
		if err != nil {
			return err
		}
		if bad := unpack(t, memory, dst); bad >= 0 {
			return fmt.Errorf("tensor %s: element %d is no whole number", t.name, bad)
		}
		return nil
	})
}

// write copies src into a tensor in row-major order of the shape. Memory in the
// gaps of the tensor, which belongs to others, stays as it is.
func write[V value](t *tensor, src []V) error {
	if err := t.checkLength(len(src)); err != nil {
		return err
	}
	d := t.device
	return d.thread.do(func() error {
		if t.dense() {
			if err := d.staging.grow(t.bytes()); err != nil {
				return err
			}
		} else if _, err := t.download(); err != nil {
			return err
		}
		if bad := pack(t, d.staging.memory, src); bad >= 0 {
			return fmt.Errorf("tensor %s: element %d is %v, which %s cannot hold", t.name, bad, src[bad], t.typ)
		}
		return d.upload(t.name, t.address, t.bytes())
	})
}
