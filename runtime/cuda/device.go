//go:build cuda

package cuda

// #cgo CFLAGS: -std=c11
// #cgo LDFLAGS: -lcuda -ldl
// #include "reprise_driver.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Options configures a CUDA device.
type Options struct {
	// Ordinal is the number of the device, from 0, as CUDA_VISIBLE_DEVICES
	// leaves them.
	Ordinal int

	// TF32 lets matrix products of FP32 fits round their factors to 10 bits of
	// mantissa, which tensor cores multiply faster. The default is true FP32.
	TF32 bool

	// Fail, when not nil, is called before each event; an error that it
	// returns is what the call returns. It exists to test how callers recover.
	// The events are "run" (a program run natively), "record" and "replay"; n
	// counts the calls for that event since Open, from 1.
	Fail func(event string, n int) error
}

// Device is one GPU. It implements device.Device.
type Device struct {
	options Options
	thread  *thread
	info    device.Info
	events  map[string]int

	capability  capability
	startsEarly bool // the driver records launches that may start early

	// Used on the thread alone.
	device  cu.Device
	stream  cu.Stream // the first lane of every program, and all copies
	staging staging

	mu       sync.Mutex // guards what follows
	counters device.Counters
	stages   int
	closed   bool
}

// Open starts the back end on a device. Without a driver or a device it fails
// with an error that says which.
func Open(options Options) (*Device, error) {
	if s := status(C.reprise_init_status()); s != C.CUDA_SUCCESS {
		return nil, fmt.Errorf("the CUDA driver cannot start: %w; check the output of nvidia-smi, or use --device=host", s)
	}
	d := &Device{options: options, thread: newThread(), events: make(map[string]int)}
	if err := d.thread.do(d.open); err != nil {
		d.thread.stop()
		return nil, err
	}
	return d, nil
}

// open binds the device to the calling thread.
func (d *Device) open() error {
	count, err := cu.NumDevices()
	if err != nil {
		return wrap("devices could not be counted", err)
	}
	if count == 0 {
		return errors.New("no CUDA device was found; check the output of nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device=host")
	}
	if d.options.Ordinal < 0 || d.options.Ordinal >= count {
		return fmt.Errorf("CUDA device %d does not exist, there are %d; choose one from 0 to %d", d.options.Ordinal, count, count-1)
	}
	if d.device, err = cu.GetDevice(d.options.Ordinal); err != nil {
		return wrap("the device could not be opened", err)
	}
	if err := d.describe(); err != nil {
		return err
	}
	context, err := d.device.RetainPrimaryCtx()
	if err != nil {
		return wrap("no context on "+d.info.Name, err)
	}
	if err = cu.SetCurrentContext(context); err == nil {
		d.stream, err = cu.MakeStream(cu.NonBlocking)
	}
	if err != nil {
		return errors.Join(wrap("no stream on "+d.info.Name, err), wrap("the context could not be released", d.device.ReleasePrimaryCtx()))
	}
	return nil
}

// recordsEarlyStarts is the version of the first driver, that of CUDA 12.3, that
// records launches which may start before the one in front of them has finished.
const recordsEarlyStarts = 12030

// describe asks what the device can do.
func (d *Device) describe() error {
	name, err := d.device.Name()
	if err != nil {
		return wrap("the device has no name", err)
	}
	major, err := d.device.Attribute(cu.ComputeCapabilityMajor)
	if err != nil {
		return wrap("the compute capability is unknown", err)
	}
	minor, err := d.device.Attribute(cu.ComputeCapabilityMinor)
	if err != nil {
		return wrap("the compute capability is unknown", err)
	}
	d.capability = capability{major, minor}
	d.startsEarly = cu.Version() >= recordsEarlyStarts // -1 when it is unknown
	d.info = device.Info{
		Name:       fmt.Sprintf("%s, compute capability %d.%d", name, major, minor),
		Kind:       "cuda",
		Precisions: []device.Precision{device.FP32, device.FP16},
	}
	if major >= 8 {
		d.info.Precisions = append(d.info.Precisions, device.BF16)
	}
	return nil
}

// Info implements device.Device.
func (d *Device) Info() device.Info { return d.info }

// Load implements device.Device. It finds the generated code of the plan, loads
// its kernels for the precision, and places parameters, gradients and buffers.
func (d *Device) Load(plan *ir.Stage, precision device.Precision) (device.Stage, error) {
	if d.isClosed() {
		return nil, errors.New("CUDA device is closed; open another")
	}
	g, err := find(plan)
	if err != nil {
		return nil, err
	}
	s := &stage{device: d, plan: plan, precision: precision, generated: g}
	if err := d.thread.do(s.load); err != nil {
		return nil, err
	}
	d.opened(1)
	return s, nil
}

// Counters implements device.Device.
func (d *Device) Counters() device.Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counters
}

// Close implements device.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	stages, closed := d.stages, d.closed
	d.closed = closed || stages == 0
	d.mu.Unlock()
	switch {
	case closed:
		return errors.New("CUDA device is already closed")
	case stages > 0:
		return fmt.Errorf("CUDA device still has %d open stages; close them first", stages)
	}
	err := d.thread.do(func() error {
		return errors.Join(
			wrap("work could not be finished", d.stream.Synchronize()),
			d.staging.release(),
			wrap("a stream could not be released", d.stream.Destroy()),
			wrap("the context could not be released", d.device.ReleasePrimaryCtx()),
		)
	})
	d.thread.stop()
	return err
}

func (d *Device) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// event asks the fault injection whether the event may happen.
func (d *Device) event(name string) error {
	if d.options.Fail == nil {
		return nil
	}
	d.mu.Lock()
	d.events[name]++
	n := d.events[name]
	d.mu.Unlock()
	return d.options.Fail(name, n)
}

func (d *Device) count(change func(*device.Counters)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.counters)
	d.counters.PeakBytes = max(d.counters.PeakBytes, d.counters.Bytes)
	d.counters.PeakReserved = max(d.counters.PeakReserved, d.counters.Reserved)
}

// opened accounts for stages opened (1) or closed (-1).
func (d *Device) opened(change int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stages += change
}
