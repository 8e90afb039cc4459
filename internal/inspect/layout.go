package inspect

import (
	"slices"
	"sort"
)

// Sizes of the drawing in user units, which are pixels at scale 1.
const (
	unitWidth    = 216.0
	columnGap    = 64.0
	unitGap      = 16.0
	bandPadding  = 18.0
	marginLeft   = 112.0
	marginTop    = 92.0
	marginRight  = 28.0
	titleHeight  = 44.0 // unit with a title and one line
	smallHeight  = 26.0 // unit of one line
	lineHeight   = 17.0
	legendHeight = 64.0
)

type rectangle struct{ x, y, width, height float64 }

// band is a horizontal strip of the drawing: all units of one reduction.
type band struct {
	reduction int
	y, height float64
}

// placement is a drawing with every unit in its place.
type placement struct {
	graph         *graph
	bands         []band
	columns       []column
	width, height float64
}

// column is a vertical run of units of one part in which maps only shrink or
// only grow.
type column struct {
	part   string
	upward bool // maps grow, so that the data flow up
}

// arrange places the units: a column per part and direction, a band per
// reduction of the map, coarse maps below fine ones; outputs stand at the right.
func arrange(g *graph) *placement {
	p := &placement{graph: g}
	p.assignBands()
	p.assignColumns()
	cells := p.cells()
	y := marginTop
	for b := range p.bands {
		height := 0.0
		for c := range p.columns {
			height = max(height, stackHeight(cells[[2]int{c, b}]))
		}
		p.bands[b].y, p.bands[b].height = y, height+2*bandPadding
		for c := range p.columns {
			p.stack(cells[[2]int{c, b}], c, y+p.bands[b].height/2)
		}
		y += p.bands[b].height
	}
	p.width = marginLeft + float64(len(p.columns))*(unitWidth+columnGap) - columnGap + marginRight
	p.height = y + legendHeight
	p.placeOutputs(y)
	return p
}

// assignBands orders the reductions from fine to coarse.
func (p *placement) assignBands() {
	var reductions []int
	for _, u := range p.graph.units {
		if u.reduction > 0 && !slices.Contains(reductions, u.reduction) {
			reductions = append(reductions, u.reduction)
		}
	}
	sort.Ints(reductions)
	for i, r := range reductions {
		p.bands = append(p.bands, band{reduction: r})
		for _, u := range p.graph.units {
			if u.reduction == r {
				u.at.band = i
			}
		}
	}
}

// assignColumns goes through the units in order and starts a new column with a
// new part and, but for heads, where maps turn from shrinking to growing or
// back. The inputs stand above the first column.
func (p *placement) assignColumns() {
	direction, previous := 0, 0
	for _, u := range p.graph.units {
		if u.part == "" {
			continue
		}
		turn := sign(u.reduction - previous)
		last := len(p.columns) - 1
		switch {
		case last < 0 || p.columns[last].part != u.part:
			p.columns = append(p.columns, column{part: u.part})
			direction = 0
		case u.kind == headUnit || turn == 0:
		case direction != 0 && turn != direction:
			p.columns = append(p.columns, column{part: u.part})
			direction = turn
		default:
			direction = turn
		}
		last = len(p.columns) - 1
		p.columns[last].upward = direction < 0
		u.at.column, previous = last, u.reduction
	}
}

func sign(v int) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// cells lists the units of each column and band from top to bottom.
func (p *placement) cells() map[[2]int][]*unit {
	cells := map[[2]int][]*unit{}
	for _, u := range p.graph.units {
		if u.reduction > 0 {
			at := [2]int{u.at.column, u.at.band}
			cells[at] = append(cells[at], u)
		}
	}
	for at, units := range cells {
		if p.columns[at[0]].upward {
			slices.Reverse(units)
		}
		if units[0].kind == headUnit {
			sort.SliceStable(units, func(i, j int) bool { return units[i].rank < units[j].rank })
		}
	}
	return cells
}

func stackHeight(units []*unit) float64 {
	height := 0.0
	for i, u := range units {
		if i > 0 {
			height += unitGap
		}
		height += u.height()
	}
	return height
}

func (u *unit) height() float64 {
	switch {
	case u.kind == joiningUnit:
		return smallHeight
	case len(u.lines) > 0:
		return titleHeight + float64(len(u.lines)-1)*lineHeight
	}
	return titleHeight
}

// stack places units one below the other around the middle of a band.
func (p *placement) stack(units []*unit, column int, middle float64) {
	y := middle - stackHeight(units)/2
	for _, u := range units {
		u.box = rectangle{x: columnX(column), y: y, width: unitWidth, height: u.height()}
		y += u.height() + unitGap
	}
}

func columnX(column int) float64 { return marginLeft + float64(column)*(unitWidth+columnGap) }

// placeOutputs puts each group of outputs beside the middle of what feeds it and
// moves groups apart that would overlap.
func (p *placement) placeOutputs(bottom float64) {
	next := marginTop + bandPadding
	for _, u := range p.graph.units {
		if u.part != outputsPart {
			continue
		}
		sum, count := 0.0, 0.0
		for _, e := range p.graph.edges {
			if e[1] == u {
				sum += e[0].box.y + e[0].box.height/2
				count++
			}
		}
		y := next
		if count > 0 {
			y = max(next, sum/count-u.height()/2)
		}
		u.box = rectangle{x: columnX(u.at.column), y: min(y, bottom-u.height()), width: unitWidth, height: u.height()}
		next = u.box.y + u.height() + unitGap
	}
}
