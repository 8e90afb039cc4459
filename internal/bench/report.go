package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/reprise-ml/reprise/gen/cost"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Report is the result of a measurement.
type Report struct {
	Workload Workload
	Device   string
	Load     time.Duration // of the kernels
	Record   time.Duration // of both programs

	// Work of a step, forward and backward, as the plan counts it.
	Bytes, Operations int

	// Memory of everything: weights, gradients, activations and recordings.
	PeakAllocated, PeakReserved int64

	Ways []Way // native, then replayed
}

// Way is one way to run a step. Times are medians; those of the device are
// between events.
type Way struct {
	Mode                          string
	Forward, Backward, Both       time.Duration
	Dispatch                      time.Duration // host time of issuing both programs
	KernelLaunches, GraphLaunches int64         // of one step
	Nodes                         int           // of both recordings
}

// describe starts a report with what does not need a measurement.
func (r *run) describe(w Workload) (*Report, error) {
	plan := r.stage.Plan()
	report := &Report{Workload: w, Device: r.device.Info().Name, Load: r.device.Counters().Loading}
	programs, err := cost.Programs(plan, w.Sizes)
	if err != nil {
		return nil, err
	}
	for i, p := range r.programs {
		bytes, err := cost.Traffic(plan, p.Ops(plan), w.Sizes, elementBytes(w.Precision))
		if err != nil {
			return nil, err
		}
		report.Bytes += bytes
		number := 0 // of the forward program in training
		if i > 0 {
			number = 2 + p.Pattern
		}
		report.Operations += 2 * programs[number].MACs
	}
	return report, nil
}

// elementBytes is the size of an activation.
func elementBytes(p device.Precision) int {
	switch p {
	case device.FP16, device.BF16:
		return 2
	case device.Float64:
		return 8
	}
	return 4
}

func (r *Report) finish(c device.Counters, ways ...Way) {
	r.PeakAllocated, r.PeakReserved, r.Ways = c.PeakBytes, c.PeakReserved, ways
}

// median sorts the times.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	middle := len(times) / 2
	if len(times)%2 == 1 {
		return times[middle]
	}
	return (times[middle-1] + times[middle]) / 2
}

// line is what one way of one workload is in JSON. bench/peer_torch.py prints
// the same keys; null is what an implementation does not have.
type line struct {
	Implementation string   `json:"implementation"`
	Task           string   `json:"task"`
	Scale          string   `json:"scale"`
	Stage          string   `json:"stage"`
	Batch          int      `json:"batch"`
	Height         int      `json:"height"`
	Width          int      `json:"width"`
	Precision      string   `json:"precision"`
	Device         string   `json:"device"`
	Mode           string   `json:"mode"`
	ForwardMS      float64  `json:"forward_ms"`
	BackwardMS     float64  `json:"backward_ms"`
	BothMS         float64  `json:"both_ms"`
	DispatchMS     float64  `json:"dispatch_ms"`
	KernelLaunches *int64   `json:"kernel_launches"`
	GraphLaunches  *int64   `json:"graph_launches"`
	Nodes          *int     `json:"nodes"`
	LoadMS         *float64 `json:"load_ms"`
	RecordMS       *float64 `json:"record_ms"`
	PeakAllocated  int64    `json:"peak_allocated_bytes"`
	PeakReserved   int64    `json:"peak_reserved_bytes"`
	BytesPerSecond *float64 `json:"bytes_per_second"`
	FLOPS          *float64 `json:"flops"`
}

// WriteJSON writes one line for each way.
func (r *Report) WriteJSON(out io.Writer) error {
	w, encoder := r.Workload, json.NewEncoder(out)
	load, record := milliseconds(r.Load), milliseconds(r.Record)
	for _, way := range r.Ways {
		bytes, operations := rate(r.Bytes, way.Both), rate(r.Operations, way.Both)
		l := line{
			Implementation: "reprise", Task: w.Task, Scale: w.Scale, Stage: w.Stage,
			Batch: w.Sizes.Batch, Height: w.Sizes.Height, Width: w.Sizes.Width, Precision: string(w.Precision),
			Device: r.Device, Mode: way.Mode,
			ForwardMS: milliseconds(way.Forward), BackwardMS: milliseconds(way.Backward), BothMS: milliseconds(way.Both), DispatchMS: milliseconds(way.Dispatch),
			KernelLaunches: &way.KernelLaunches, GraphLaunches: &way.GraphLaunches, LoadMS: &load,
			PeakAllocated: r.PeakAllocated, PeakReserved: r.PeakReserved,
			BytesPerSecond: &bytes, FLOPS: &operations,
		}
		if way.Nodes > 0 {
			l.Nodes, l.RecordMS = &way.Nodes, &record
		}
		if err := encoder.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// WriteText writes a table.
func (r *Report) WriteText(out io.Writer) error {
	const mebibyte, giga, tera = 1 << 20, 1e9, 1e12
	fmt.Fprintf(out, "%s on %s\n\n", r.Workload, r.Device)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "way\tforward ms\tbackward ms\tboth ms\tdispatch ms\tkernel launches\tgraph launches\tGB/s\tTFLOP/s\t")
	for _, w := range r.Ways {
		fmt.Fprintf(table, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%d\t%.0f\t%.2f\t\n", w.Mode,
			milliseconds(w.Forward), milliseconds(w.Backward), milliseconds(w.Both), milliseconds(w.Dispatch),
			w.KernelLaunches, w.GraphLaunches, rate(r.Bytes, w.Both)/giga, rate(r.Operations, w.Both)/tera)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	nodes := 0
	for _, w := range r.Ways {
		nodes += w.Nodes
	}
	_, err := fmt.Fprintf(out, "\n%d nodes recorded in %.1f ms, kernels loaded in %.1f ms\npeak memory %d MiB allocated, %d MiB reserved\na step is %d MB of operands and %.1f GFLOP\n",
		nodes, milliseconds(r.Record), milliseconds(r.Load), r.PeakAllocated/mebibyte, r.PeakReserved/mebibyte, r.Bytes/1e6, float64(r.Operations)/giga)
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rate is an amount in a second.
func rate(amount int, d time.Duration) float64 { return float64(amount) / d.Seconds() }
