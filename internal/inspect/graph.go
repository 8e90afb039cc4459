package inspect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// graph is a network as it is drawn: units and the tensors between them.
type graph struct {
	units []*unit
	edges [][2]*unit // from, to; in order, each once
}

// unit is one box of the drawing: an input, a block, a level of a head branch or
// the outputs that come from the same units.
type unit struct {
	key        string
	part       string // column that it belongs to: backbone, neck, head ...
	title      string
	kind       unitKind
	lines      []string // further text
	shape      []int    // of the result, without the batch
	reduction  int      // input height over the height of the result; 0 without a map
	parameters int
	macs       int // for one image
	layers     []Layer
	training   bool // not in the deployed part
	rank       int  // order among the units of one head level

	box rectangle
	at  struct{ column, band int }
}

// unitKind decides the colour of a unit.
type unitKind int

const (
	tensorUnit unitKind = iota
	stridedUnit
	blockUnit
	poolingUnit
	attentionUnit
	joiningUnit
	headUnit
)

// grapher follows tensors from unit to unit.
type grapher struct {
	report  *Report
	stage   *ir.Stage
	graph   graph
	byKey   map[string]*unit
	sources map[ir.Ref][]*unit // units that a value comes from
}

// newGraph finds the units of a report and what flows between them.
func newGraph(r *Report) (*graph, error) {
	g := &grapher{report: r, stage: r.stage, byKey: map[string]*unit{}, sources: map[ir.Ref][]*unit{}}
	if err := g.inputs(); err != nil {
		return nil, err
	}
	owner := map[int]*Layer{}
	for i := range r.Layers {
		for _, op := range r.Layers[i].ops {
			owner[op] = &r.Layers[i]
		}
	}
	seen := map[*Layer]bool{}
	for i := range g.stage.Forward {
		g.follow(&g.stage.Forward[i], owner[i], seen)
	}
	for _, u := range g.graph.units {
		g.describe(u)
	}
	deployed := Deployed(g.stage)
	g.markTraining(deployed)
	if err := g.outputs(deployed); err != nil {
		return nil, err
	}
	return &g.graph, nil
}

func (g *grapher) inputs() error {
	for _, p := range g.stage.Inputs {
		shape, err := shapeAt(g.stage, p.Tensor, g.report.Sizes)
		if err != nil {
			return err
		}
		u := g.add(&unit{key: p.Name, title: p.Name, shape: shape[1:]})
		if len(shape) == 4 {
			u.reduction = 1
		}
		g.sources[p.Tensor] = []*unit{u}
	}
	return nil
}

func (g *grapher) add(u *unit) *unit {
	g.byKey[u.key] = u
	g.graph.units = append(g.graph.units, u)
	return u
}

// follow gives an operation to its unit and joins the unit to those that its
// operands come from. Operations without a unit pass their sources on.
func (g *grapher) follow(op *ir.Op, layer *Layer, seen map[*Layer]bool) {
	var from []*unit
	for _, r := range op.Reads() {
		for _, u := range g.sources[r] {
			if !slices.Contains(from, u) {
				from = append(from, u)
			}
		}
	}
	part, key := "", ""
	if layer != nil {
		part, key = unitOf(layer.Name)
	}
	if key == "" {
		g.sources[result(op)] = from
		return
	}
	u := g.byKey[key]
	if u == nil {
		u = g.add(&unit{key: key, part: part})
	}
	if !seen[layer] {
		seen[layer] = true
		u.layers = append(u.layers, *layer)
	}
	for _, f := range from {
		if f != u {
			g.join(f, u)
		}
	}
	g.sources[result(op)] = []*unit{u}
}

func (g *grapher) join(from, to *unit) {
	edge := [2]*unit{from, to}
	if !slices.Contains(g.graph.edges, edge) {
		g.graph.edges = append(g.graph.edges, edge)
	}
}

// unitOf finds part and unit of a layer by the grammar of names (YOLO26
// specification, network section 9): blocks of backbone and neck, levels of a
// head branch, and any other module whole. What joins the levels of a head is in
// no unit.
func unitOf(layer string) (part, key string) {
	names := strings.Split(layer, ".")
	switch {
	case names[0] == "head" && len(names) > 3:
		if _, err := strconv.Atoi(names[3]); err != nil || !strings.HasSuffix(names[2], stemSuffix) {
			return "", ""
		}
		return "head", strings.Join([]string{"head", names[1], names[3]}, ".")
	case (names[0] == "backbone" || names[0] == "neck") && len(names) > 1:
		if len(names) == 3 {
			if _, err := strconv.Atoi(names[2]); err == nil { // the second upsample or concat
				return names[0], layer
			}
		}
		return names[0], names[0] + "." + names[1]
	}
	return names[0], names[0]
}

const stemSuffix = "_stems"

// describe sums up the layers of a unit.
func (g *grapher) describe(u *unit) {
	if len(u.layers) == 0 {
		return
	}
	last := u.layers[len(u.layers)-1]
	u.shape = last.Out[1:]
	if len(last.Out) == 4 {
		u.reduction = g.report.Sizes.Height / last.Out[2]
	}
	for _, l := range u.layers {
		u.parameters += l.Parameters
		u.macs += l.MACs / g.report.Sizes.Batch
	}
	names := strings.Split(u.key, ".")
	u.title, u.kind = names[min(1, len(names)-1)], kindOf(u.layers)
	if u.part == "head" {
		u.kind, u.title = headUnit, branchTitle(names[1])
		u.lines = stemLines(u.layers)
	}
}

func branchTitle(branch string) string {
	switch branch {
	case "o2m":
		return "one-to-many (o2m)"
	case "o2o":
		return "one-to-one (o2o)"
	}
	return branch
}

func kindOf(layers []Layer) unitKind {
	joining, pooling := true, false
	for _, l := range layers {
		switch l.Kind {
		case "softmax":
			return attentionUnit
		case "max pool":
			pooling = true
		case "upsample", "concat":
			continue
		}
		joining = false
	}
	switch {
	case joining:
		return joiningUnit
	case pooling:
		return poolingUnit
	case len(layers) == 1 && layers[0].Stride == 2:
		return stridedUnit
	}
	return blockUnit
}

// stemLines tells the widths of each stem of a head level: input, hidden, output.
func stemLines(layers []Layer) []string {
	var lines []string
	widths := map[string][]int{}
	var order []string
	for _, l := range layers {
		stem := strings.TrimSuffix(strings.Split(l.Name, ".")[2], stemSuffix)
		if widths[stem] == nil {
			order = append(order, stem)
			widths[stem] = []int{l.In[0][1]}
		}
		if last := widths[stem][len(widths[stem])-1]; last != l.Out[1] {
			widths[stem] = append(widths[stem], l.Out[1])
		}
	}
	for _, stem := range order {
		var parts []string
		for _, w := range widths[stem] {
			parts = append(parts, strconv.Itoa(w))
		}
		lines = append(lines, stem+"  "+strings.Join(parts, " → "))
	}
	return lines
}

// outputs makes one unit for all outputs that come from the same units, and
// puts units that feed earlier outputs first.
func (g *grapher) outputs(deployed *ir.Stage) error {
	groups := map[string]*unit{}
	kept := map[string]bool{}
	for _, p := range deployed.Outputs {
		kept[p.Name] = true
	}
	for i, p := range g.stage.Outputs {
		from := g.sources[p.Tensor]
		var keys []string
		for _, u := range from {
			keys = append(keys, u.key)
		}
		key := strings.Join(keys, " ")
		u := groups[key]
		if u == nil {
			u = g.add(&unit{key: "output " + p.Name, part: outputsPart, title: "outputs", training: true, rank: i})
			groups[key] = u
			for _, f := range from {
				f.rank = i
				g.join(f, u)
			}
		}
		u.training = u.training && !kept[p.Name]
		shape, err := shapeAt(g.stage, p.Tensor, g.report.Sizes)
		if err != nil {
			return err
		}
		u.lines = append(u.lines, p.Name+"  "+crossed(shape[1:]))
	}
	return nil
}

// markTraining finds the units that the deployed part does without.
func (g *grapher) markTraining(deployed *ir.Stage) {
	kept := map[string]bool{}
	for i := range deployed.Forward {
		kept[deployed.Forward[i].Name] = true
	}
	for _, u := range g.graph.units {
		u.training = len(u.layers) > 0
		for _, l := range u.layers {
			u.training = u.training && !kept[g.stage.Forward[l.ops[0]].Name]
		}
	}
}

// outputsPart is the column of the outputs.
const outputsPart = "outputs"

// crossed prints a shape as 64 × 128 × 128.
func crossed(shape []int) string { return strings.ReplaceAll(shapeText(shape), "x", " × ") }
