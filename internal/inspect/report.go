package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/reprise-ml/reprise/gen/cost"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// Request says which network is to be inspected, at which sizes.
type Request struct {
	Network Network
	Scale   yolo26.Scale
	Classes int
	Sizes   ir.Sizes
}

// Report is what there is to know about a network before it runs.
type Report struct {
	Task    string   `json:"task"`
	Scale   string   `json:"scale"`
	Classes int      `json:"classes"`
	Sizes   ir.Sizes `json:"sizes"`

	Parameters         int `json:"parameters"`
	ParameterTensors   int `json:"parameterTensors"`
	StateEntries       int `json:"stateEntries"`
	DeployedParameters int `json:"deployedParameters"`

	// GFLOPs is the work of the deployed part for one image, by the convention
	// of the YOLO26 specification (network section 10).
	GFLOPs float64 `json:"gflops"`

	Layers   []Layer      `json:"layers"`
	Programs []Program    `json:"programs"`
	Arenas   []cost.Arena `json:"arenas"`

	stage *ir.Stage // as its author wrote it
}

// Inspect builds a network, runs the passes and counts. Launches are listed by
// stage; memory is that of all stages together.
func Inspect(r Request) (*Report, error) {
	var stages []*ir.Stage
	for _, d := range r.Network.Define(Model{Scale: r.Scale, Classes: r.Classes, Keypoints: r.Network.Keypoints}) {
		s, err := d.Build()
		if err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	defined, err := Join(r.Network.Task, stages...)
	if err != nil {
		return nil, err
	}
	layers, err := Layers(defined, r.Sizes)
	if err != nil {
		return nil, err
	}
	deployed := Deployed(defined)
	work, err := ForwardWork(deployed, ir.Sizes{Batch: 1, Height: r.Sizes.Height, Width: r.Sizes.Width})
	if err != nil {
		return nil, err
	}
	report := &Report{
		Task: r.Network.Task, Scale: r.Scale.Name, Classes: r.Classes, Sizes: r.Sizes,
		Parameters: Parameters(defined), ParameterTensors: ParameterTensors(defined), StateEntries: StateEntries(defined),
		DeployedParameters: Parameters(deployed), GFLOPs: work.GFLOPs(),
		Layers: layers, stage: defined,
	}
	return report, report.addPlans(stages)
}

// addPlans adds what only the plans of the stages can tell.
func (r *Report) addPlans(stages []*ir.Stage) error {
	for _, s := range stages {
		plan, err := pass.Run(s, nil)
		if err != nil {
			return err
		}
		for _, p := range Programs(plan) {
			if len(stages) > 1 {
				p.Name = plan.Name + ": " + p.Name
			}
			r.Programs = append(r.Programs, p)
		}
		arenas, err := cost.Arenas(plan, r.Sizes)
		if err != nil {
			return err
		}
		if r.Arenas == nil {
			r.Arenas = arenas
			continue
		}
		for i := range arenas {
			r.Arenas[i].Bytes += arenas[i].Bytes
		}
	}
	return nil
}

// WriteJSON writes the report as one indented JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteText writes the report as tables that a person reads: layers in order,
// then totals, programs and memory.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s, scale %s, %d classes, batch %d, %d x %d px\n\n", r.Task, r.Scale, r.Classes, r.Sizes.Batch, r.Sizes.Height, r.Sizes.Width)
	fmt.Fprintln(t, "layer\tkind\tin\tout\tkernel\tstride\tgroups\tparameters\tMACs")
	for _, l := range r.Layers {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, l.Kind, inputText(l.In), shapeText(l.Out),
			present(l.Kernel), present(l.Stride), present(l.Groups), present(l.Parameters), present(l.MACs))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(t)
	fmt.Fprintf(t, "parameters\t%s in %d tensors\n", grouped(r.Parameters), r.ParameterTensors)
	fmt.Fprintf(t, "state entries\t%d\n", r.StateEntries)
	fmt.Fprintf(t, "deployed parameters\t%s\n", grouped(r.DeployedParameters))
	fmt.Fprintf(t, "deployed GFLOPs per image\t%.4f\n", r.GFLOPs)
	for _, p := range r.Programs {
		fmt.Fprintf(t, "%s\t%d launches on %d lanes\n", p.Name, p.Launches, p.Lanes)
	}
	for _, a := range r.Arenas {
		fmt.Fprintf(t, "arena in %s\t%s bytes (%.1f MiB)\n", a.Precision, grouped(a.Bytes), float64(a.Bytes)/(1<<20))
	}
	return t.Flush()
}

// inputText prints the shapes of operands, equal neighbours as a count.
func inputText(shapes [][]int) string {
	var parts []string
	for i := 0; i < len(shapes); {
		text, n := shapeText(shapes[i]), 1
		for i+n < len(shapes) && shapeText(shapes[i+n]) == text {
			n++
		}
		if n > 1 {
			text = fmt.Sprintf("%d * %s", n, text)
		}
		parts = append(parts, text)
		i += n
	}
	return strings.Join(parts, ", ")
}

func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, v := range shape {
		parts[i] = strconv.Itoa(v)
	}
	return strings.Join(parts, "x")
}

// present prints a number, nothing for 0.
func present(v int) string {
	if v == 0 {
		return ""
	}
	return grouped(v)
}

// grouped prints a number with spaces between thousands.
func grouped(v int) string {
	text := strconv.Itoa(v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
