package inspect

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// style is the look of a kind of unit and its entry in the legend.
type style struct {
	kind         unitKind
	name         string
	fill, stroke string
}

var styles = []style{
	{tensorUnit, "input or output", "#ffffff", "#333333"},
	{stridedUnit, "strided convolution", "#dce8f7", "#3b6ea8"},
	{blockUnit, "convolution block", "#e2f0dc", "#4b8a3a"},
	{poolingUnit, "pooling block", "#fdecd0", "#b9770e"},
	{attentionUnit, "block with attention", "#f8dcea", "#b0407c"},
	{joiningUnit, "upsample or concat", "#ececec", "#777777"},
	{headUnit, "head stems of a level", "#e8e0f6", "#6a4fb0"},
}

func styleOf(k unitKind) style {
	for _, s := range styles {
		if s.kind == k {
			return s
		}
	}
	return styles[0]
}

// WriteSVG draws the network: a column for each part, a strip for each size of
// map, units with shape, parameters and multiply-accumulates of one image.
func (r *Report) WriteSVG(w io.Writer) error {
	g, err := newGraph(r)
	if err != nil {
		return err
	}
	d := &drawing{report: r, placement: arrange(g)}
	d.open()
	d.strips()
	for _, e := range g.edges {
		d.edge(e[0], e[1])
	}
	for _, u := range g.units {
		d.unit(u)
	}
	d.legend()
	d.out.WriteString("</svg>\n")
	_, err = w.Write(d.out.Bytes())
	return err
}

type drawing struct {
	report    *Report
	placement *placement
	out       bytes.Buffer
}

// text writes a text; size in pixels, anchor start, middle or end.
func (d *drawing) text(x, y, size float64, anchor, more, text string) {
	fmt.Fprintf(&d.out, "<text x=%q y=%q font-size=%q text-anchor=%q%s>%s</text>\n", number(x), number(y), number(size), anchor, more, html.EscapeString(text))
}

// number prints a coordinate with at most one decimal.
func number(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Round(v*10)/10), ".0")
}

const (
	bold  = ` font-weight="bold"`
	muted = ` fill="#555555"`
)

func (d *drawing) open() {
	p, r := d.placement, d.report
	fmt.Fprintf(&d.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" font-family="DejaVu Sans, Verdana, Arial, sans-serif" fill="#222222">`+"\n", number(p.width), number(p.height))
	fmt.Fprintf(&d.out, "<title>%s, scale %s</title>\n", html.EscapeString(r.Task), html.EscapeString(r.Scale))
	d.out.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" fill="#555555"/></marker></defs>` + "\n")
	fmt.Fprintf(&d.out, "<rect width=%q height=%q fill=\"#ffffff\"/>\n", number(p.width), number(p.height))
	d.text(24, 34, 20, "start", bold, fmt.Sprintf("%s, scale %s, %d classes", r.Task, r.Scale, r.Classes))
	d.text(24, 56, 13, "start", muted, fmt.Sprintf("%s parameters, %s deployed; %.2f GFLOPs deployed for one image of %d × %d px",
		grouped(r.Parameters), grouped(r.DeployedParameters), r.GFLOPs, r.Sizes.Height, r.Sizes.Width))
	for first := 0; first < len(p.columns); {
		last := first
		for last+1 < len(p.columns) && p.columns[last+1].part == p.columns[first].part {
			last++
		}
		d.text((columnX(first)+columnX(last)+unitWidth)/2, marginTop-10, 14, "middle", bold, p.columns[first].part)
		first = last + 1
	}
}

// strips draws the background of each band with its size of map.
func (d *drawing) strips() {
	for i, b := range d.placement.bands {
		fill := "#f6f7f9"
		if i%2 == 1 {
			fill = "#fcfcfd"
		}
		fmt.Fprintf(&d.out, "<rect x=\"12\" y=%q width=%q height=%q fill=%q/>\n", number(b.y), number(d.placement.width-24), number(b.height), fill)
		middle := b.y + b.height/2
		name := fmt.Sprintf("1/%d", b.reduction)
		if b.reduction == 1 {
			name = "full size"
		}
		d.text(22, middle-2, 13, "start", bold, name)
		d.text(22, middle+14, 11, "start", muted, fmt.Sprintf("%d × %d", d.report.Sizes.Height/b.reduction, d.report.Sizes.Width/b.reduction))
	}
}

// edge draws an arrow: straight between units of one column, else from the right
// side of one unit to the left side of the other.
func (d *drawing) edge(from, to *unit) {
	a, b := from.box, to.box
	var path string
	if a.x == b.x {
		start, end := a.y+a.height, b.y
		if b.y < a.y {
			start, end = a.y, b.y+b.height
		}
		path = fmt.Sprintf("M%s,%s L%s,%s", number(a.x+a.width/2), number(start), number(b.x+b.width/2), number(end))
	} else {
		x0, y0, x1, y1 := a.x+a.width, a.y+a.height/2, b.x, b.y+b.height/2
		bend := columnGap * 0.6
		path = fmt.Sprintf("M%s,%s C%s,%s %s,%s %s,%s", number(x0), number(y0), number(x0+bend), number(y0), number(x1-bend), number(y1), number(x1), number(y1))
	}
	fmt.Fprintf(&d.out, "<path d=%q fill=\"none\" stroke=\"#555555\" stroke-width=\"1.2\"%s marker-end=\"url(#arrow)\"/>\n", path, dashes(to))
}

// dashes marks what only training has.
func dashes(u *unit) string {
	if u.training {
		return ` stroke-dasharray="5 3"`
	}
	return ""
}

func (d *drawing) unit(u *unit) {
	s, b := styleOf(u.kind), u.box
	fmt.Fprintf(&d.out, "<rect x=%q y=%q width=%q height=%q rx=\"5\" fill=%q stroke=%q stroke-width=\"1.4\"%s/>\n", number(b.x), number(b.y), number(b.width), number(b.height), s.fill, s.stroke, dashes(u))
	left, right := b.x+10, b.x+b.width-10
	d.text(left, b.y+17, 12, "start", bold, u.title)
	if u.kind == joiningUnit {
		d.text(right, b.y+17, 11, "end", muted, crossed(u.shape))
		return
	}
	if u.macs > 0 {
		d.text(right, b.y+17, 10.5, "end", muted, giga(u.macs))
	}
	if len(u.lines) > 0 {
		for i, line := range u.lines {
			name, value, _ := strings.Cut(line, "  ")
			y := b.y + 17 + float64(i+1)*lineHeight
			d.text(left, y, 11, "start", "", name)
			d.text(right, y, 11, "end", muted, value)
		}
		return
	}
	d.text(left, b.y+35, 11, "start", "", crossed(u.shape))
	if u.parameters > 0 {
		d.text(right, b.y+35, 10.5, "end", muted, grouped(u.parameters))
	}
}

// giga prints a number of multiply-accumulates in units of 10^9.
func giga(macs int) string { return fmt.Sprintf("%.3f G", float64(macs)/1e9) }

// legend explains colours and numbers.
func (d *drawing) legend() {
	y := d.placement.height - legendHeight + 24
	x := 24.0
	for _, s := range styles {
		fmt.Fprintf(&d.out, "<rect x=%q y=%q width=\"20\" height=\"13\" rx=\"3\" fill=%q stroke=%q stroke-width=\"1.4\"/>\n", number(x), number(y-11), s.fill, s.stroke)
		d.text(x+27, y, 12, "start", "", s.name)
		x += 27 + 7.4*float64(len(s.name)) + 22
	}
	d.text(24, y+24, 12, "start", muted, "A unit shows channels × height × width of its result, its parameters (right) and its multiply-accumulates for one image (G: 10⁹). Head stems show the widths of input, hidden layers and output. Dashed: only in training.")
}
