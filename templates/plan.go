package templates

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// planned is what the templates print: every list sorted or in plan order.
type planned struct {
	Package, Stage, Digest string
	Prefix                 string // of every C symbol of the stage

	Kernels  []Kernel
	Programs []program
	Ops      []operation // of all programs, each once
	Packs    [][]packEntry
	Packed   int // elements of all packed weights
	Storages int
	Lanes    int
	Events   int
	Scratch  [][]string // by lane: amounts of memory in bytes
	Kept     []kept     // amounts of memory for partial sums, numbered from 1
	KeptOf   [][]string // by lane: the largest of them
	Sizes    []string   // elements of the storages, distinct
	Images   string     // kernel that converts 8-bit pixels; empty when no input is an image
	Add      string     // kernel that adds activations

	functions map[string]string // of operations, by what they do
	amounts   *amounts
}

// program is one list of launches.
type program struct {
	Name  string // C name after the prefix
	Title string
	Steps []step
	Nodes int
	Table string // name of the program whose table of steps serves; an earlier one with equal steps, or its own
}

// step is one entry of the step table of a program.
type step struct {
	Kind      string // of enum reprise_step_kind, after the prefix
	Lane      int
	Value     int
	Operation string // function, or NULL
}

// operation is one function that issues the launches of an operation. Programs
// share the function of an operation that they have in common.
type operation struct {
	Name, Title string
	Launches    []launchText
}

// launchText is one launch as C text.
type launchText struct {
	Kernel  string
	Struct  string
	Threads int
	Grid    [3]string
	Fields  []fieldText
}

type fieldText struct{ Name, Value string }

type packEntry struct{ Source, Target, Outputs, Inputs, Taps, Padded string }

// packsALaunch is the length of the table in the arguments of pack_weights.
const packsALaunch = 64

var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// plan computes everything that is printed for a stage.
func plan(stage *ir.Stage, pkg string) (*planned, error) {
	if !identifier.MatchString(pkg) || !identifier.MatchString(stage.Name) {
		return nil, fmt.Errorf("package %q, stage %q: both must be C identifiers; rename them", pkg, stage.Name)
	}
	p := &planned{Package: pkg, Stage: stage.Name, Digest: stage.Digest, Prefix: "reprise_" + pkg + "_" + stage.Name + "_", Storages: len(stage.Storages), Lanes: 1, functions: map[string]string{}, amounts: newAmounts()}
	if err := p.pack(stage); err != nil {
		return nil, err
	}
	forward, err := p.operations(stage, "forward", stage.Forward, ir.Training)
	if err != nil {
		return nil, err
	}
	evaluation, err := p.operations(stage, "evaluation", stage.Forward, ir.Eval)
	if err != nil {
		return nil, err
	}
	p.utilities(stage)
	packs := len(p.Packs)
	p.addProgram(forward, "forward_training", "forward pass in training", packs, ir.Training)
	p.addProgram(evaluation, "forward_evaluation", "forward pass in evaluation", packs, ir.Eval)
	for i, b := range stage.Backward {
		name := fmt.Sprintf("backward_%d", i)
		list, err := p.operations(stage, name, b.Ops, ir.Training)
		if err != nil {
			return nil, err
		}
		p.addProgram(list, name, "backward pass with cotangents for "+strings.Join(b.Present, ", "), 0, ir.Training)
	}
	p.finish(stage)
	return p, nil
}

// utilities adds the kernels that back ends launch between programs.
func (p *planned) utilities(stage *ir.Stage) {
	add := "elementwise<copy_operation, true, index_t, 1, 1, element, element, element>"
	p.Add = symbol(add)
	p.Kernels = append(p.Kernels, Kernel{Name: p.Add, Threads: 256, Call: add, Struct: "reprise_elementwise_arguments", File: "elementwise"})
	isImage := func(t *ir.Tensor) bool {
		return t.Map && len(t.Shape) == 4 && t.Shape[1].Equal(ir.Const(3)) && t.Elem == ir.Activation
	}
	if slices.ContainsFunc(stage.Inputs, func(in ir.Port) bool { return isImage(stage.Tensor(in.Tensor)) }) {
		images := "write_images<index_t, element>"
		p.Images = symbol(images)
		p.Kernels = append(p.Kernels, Kernel{Name: p.Images, Threads: 256, Call: images, Struct: "reprise_images_arguments", File: "images"})
	}
}

// listing is a list of operations with what was planned for each.
type listing struct {
	ops       []ir.Op
	functions []string // that issue them
	nodes     []int    // launches of each
}

// operations adds the functions of a list of operations and the kernels that
// they launch in passes of a mode.
func (p *planned) operations(stage *ir.Stage, prefix string, ops []ir.Op, mode ir.Mode) (*listing, error) {
	lists, err := launches(stage, ops, mode, p.amounts)
	if err != nil {
		return nil, err
	}
	l := &listing{ops: ops}
	for i, op := range ops {
		p.Lanes = max(p.Lanes, op.Lane+1)
		for len(p.Scratch) < p.Lanes {
			p.Scratch, p.KeptOf = append(p.Scratch, nil), append(p.KeptOf, nil)
		}
		for _, launch := range lists[i] {
			p.Kernels = append(p.Kernels, launch.Kernel)
			if bytes := launch.Scratch.C(); bytes != "0" {
				p.Scratch[op.Lane] = append(p.Scratch[op.Lane], bytes)
			}
			if launch.Kept > 0 {
				p.KeptOf[op.Lane] = append(p.KeptOf[op.Lane], fmt.Sprintf("kept_%d(n, h, w)", launch.Kept))
			}
		}
		if !in(&op, mode) {
			l.functions, l.nodes = append(l.functions, ""), append(l.nodes, 0)
			continue
		}
		l.functions = append(l.functions, p.function(fmt.Sprintf("%s_%d", prefix, i), &op, lists[i]))
		l.nodes = append(l.nodes, len(lists[i]))
	}
	return l, nil
}

// function gives the name of the function that issues the launches of an
// operation: an earlier one that does the same, or a new one.
func (p *planned) function(name string, op *ir.Op, launches []Launch) string {
	o := operation{Name: name, Title: op.Do.Kind() + " " + op.Name}
	for _, l := range launches {
		t := launchText{Kernel: l.Kernel.Name, Struct: l.Kernel.Struct, Threads: l.Kernel.Threads}
		for d, g := range l.Grid {
			t.Grid[d] = g.C()
		}
		for _, f := range l.arguments {
			if f.value != "0" && !strings.HasPrefix(f.value, "{0, ") { // C fills what is left out with zeros
				t.Fields = append(t.Fields, fieldText{f.name, f.value})
			}
		}
		o.Launches = append(o.Launches, t)
	}
	key := fmt.Sprint(o.Title, o.Launches)
	if known, found := p.functions[key]; found {
		return known
	}
	p.functions[key] = name
	p.Ops = append(p.Ops, o)
	return name
}

// addProgram lists the steps of one program: side lanes start when the first
// lane has packed the weights and end in the first lane; launches wait for
// events of those launches of other lanes that they follow.
func (p *planned) addProgram(l *listing, name, title string, packs int, mode ir.Mode) {
	ops := l.ops
	g := program{Name: name, Title: title, Nodes: packs}
	in := func(i int) bool { return ops[i].Mode == ir.Always || ops[i].Mode == mode }
	event, lanes := map[int]int{}, 1
	for i, op := range ops {
		if in(i) {
			lanes = max(lanes, op.Lane+1)
			for _, w := range op.Wait {
				if _, known := event[w]; !known && in(w) {
					event[w] = len(event)
				}
			}
		}
	}
	for i := range packs {
		g.Steps = append(g.Steps, step{"launch", 0, -1, fmt.Sprintf("pack_%d", i)})
	}
	if lanes > 1 {
		g.Steps = append(g.Steps, step{"fork", lanes, 0, "NULL"})
	}
	for i, op := range ops {
		if !in(i) {
			continue
		}
		for _, w := range op.Wait {
			if in(w) {
				g.Steps = append(g.Steps, step{"wait", op.Lane, event[w], "NULL"})
			}
		}
		g.Steps = append(g.Steps, step{"launch", op.Lane, i, l.functions[i]})
		if e, waited := event[i]; waited {
			g.Steps = append(g.Steps, step{"signal", op.Lane, e, "NULL"})
		}
		g.Nodes += l.nodes[i]
	}
	if lanes > 1 {
		g.Steps = append(g.Steps, step{"join", lanes, 0, "NULL"})
	}
	p.Events = max(p.Events, len(event))
	p.Programs = append(p.Programs, p.withTable(g))
}

// withTable chooses the table of a program. A stage without dropout and batch
// normalisation does in evaluation what it does in training.
func (p *planned) withTable(g program) program {
	g.Table = g.Name
	for _, earlier := range p.Programs {
		if slices.Equal(earlier.Steps, g.Steps) {
			g.Table = earlier.Table
			break
		}
	}
	return g
}

// pack lists the weights that the first launches rewrite.
func (p *planned) pack(stage *ir.Stage) error {
	all, err := packing(stage)
	if err != nil {
		return err
	}
	p.Packed = all.elements
	b := &builder{stage: stage}
	for i, w := range all.weights {
		if i%packsALaunch == 0 {
			p.Packs = append(p.Packs, nil)
		}
		last := len(p.Packs) - 1
		p.Packs[last] = append(p.Packs[last], all.entry(b, w))
	}
	if len(all.weights) > 0 {
		p.Kernels = append(p.Kernels, Kernel{Name: symbol("pack_weights<element>"), Threads: 256, Call: "pack_weights<element>", Struct: "reprise_pack_arguments", File: "pack"})
	}
	return nil
}

// finish sorts what has no order of its own and drops repeats.
func (p *planned) finish(stage *ir.Stage) {
	slices.SortFunc(p.Kernels, func(a, b Kernel) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Name, b.Name)) })
	kernels := p.Kernels[:0]
	for i, k := range p.Kernels {
		if i == 0 || k.Name != p.Kernels[i-1].Name {
			kernels = append(kernels, k)
		}
	}
	p.Kernels, p.Kept = kernels, p.amounts.list
	for lane := range p.Scratch {
		p.Scratch[lane], p.KeptOf[lane] = distinct(p.Scratch[lane]), distinct(p.KeptOf[lane])
	}
	for _, s := range stage.Storages {
		p.Sizes = append(p.Sizes, dimText(s.Size))
	}
	p.Sizes = distinct(p.Sizes)
}

// distinct sorts texts and drops repeats.
func distinct(texts []string) []string {
	sorted := append([]string(nil), texts...)
	sort.Strings(sorted)
	var out []string
	for i, t := range sorted {
		if i == 0 || t != sorted[i-1] {
			out = append(out, t)
		}
	}
	return out
}
