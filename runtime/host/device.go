package host

import (
	"errors"
	"fmt"
	"sync"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Options configures a host device.
type Options struct {
	// Fail, when not nil, is called before each event; an error that it
	// returns is what the call returns. It exists to test how callers recover.
	// The events are "launch" (one kernel of a native run), "record" and
	// "replay"; n counts the calls for that event since Open, from 1.
	Fail func(event string, n int) error
}

// Device is the processor as a device. It implements device.Device.
type Device struct {
	options Options
	pool    *pool

	mu       sync.Mutex // guards what follows
	counters device.Counters
	events   map[string]int
	stages   int
	closed   bool
}

// Open returns a device that uses as many cores as GOMAXPROCS says now.
func Open(options Options) device.Device {
	return &Device{options: options, pool: newPool(), events: make(map[string]int)}
}

// Info implements device.Device.
func (d *Device) Info() device.Info {
	return device.Info{
		Name:       fmt.Sprintf("host, %d cores", d.pool.workers),
		Kind:       "host",
		Precisions: []device.Precision{device.FP32, device.Float64},
	}
}

// Load implements device.Device. It fails for a precision other than FP32 and
// Float64, for operations that no back end runs, and for a plan whose
// persistent tensors depend on the batch or do not fit their storages.
func (d *Device) Load(plan *ir.Stage, precision device.Precision) (device.Stage, error) {
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return nil, errors.New("host device is closed; open another")
	}
	switch precision {
	case device.FP32:
		return load[float32](d, plan)
	case device.Float64:
		return load[float64](d, plan)
	}
	return nil, fmt.Errorf("host device cannot run stage %s in %s; use %s or %s", plan.Name, precision, device.FP32, device.Float64)
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
	defer d.mu.Unlock()
	if d.closed {
		return errors.New("host device is already closed")
	}
	if d.stages > 0 {
		return fmt.Errorf("host device still has %d open stages; close them first", d.stages)
	}
	d.closed = true
	d.pool.close()
	return nil
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
}

// allocated accounts for memory taken (positive) or released (negative).
func (d *Device) allocated(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counters.Bytes += bytes
	d.counters.PeakBytes = max(d.counters.PeakBytes, d.counters.Bytes)
}

// opened accounts for stages opened (1) or closed (-1).
func (d *Device) opened(change int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stages += change
}
