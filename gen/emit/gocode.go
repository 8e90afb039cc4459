package emit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/reprise-ml/reprise/gen/ir"
)

// replayPath is the only package that generated Go calls.
const replayPath = "github.com/reprise-ml/reprise/runtime/replay"

// goFile prints the typed Go of one stage.
// kernels is the digest of its CUDA and C text.
func goFile(packageName string, s *ir.Stage, kernels string) ([]byte, error) {
	f := jen.NewFile(packageName)
	f.HeaderComment(Header)
	f.ImportName(replayPath, "replay")
	f.Anon("embed")
	g := &goPrinter{file: f, stage: s}
	g.plan(kernels)
	g.ports()
	g.gradients()
	g.entries(parameterSuffix, "a parameter", parameterRows(s))
	g.entries(bufferSuffix, "a buffer", bufferRows(s))
	g.load()
	g.calls()
	var out bytes.Buffer
	if err := f.Render(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// goPrinter prints the declarations of one stage. Every declaration and field
// stands alone below its comment, so that gofmt aligns nothing and a change of
// one line is a diff of one line.
type goPrinter struct {
	file  *jen.File
	stage *ir.Stage
}

func (g *goPrinter) name(suffix string) string { return declared(g.stage.Name, suffix) }

func (g *goPrinter) comment(format string, args ...any) {
	g.file.Line()
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		g.file.Comment(line)
	}
}

func replay(name string) *jen.Statement { return jen.Qual(replayPath, name) }

func tensor() *jen.Statement { return jen.Op("*").Add(replay("Tensor")) }

// plan declares what ties the Go file to the plan file, to the text of the
// kernels and to the runtime.
func (g *goPrinter) plan(kernels string) {
	g.comment("A runtime that this file was not generated for does not compile with it.")
	g.file.Const().Id("_").Op("=").Add(replay("GeneratedFormat1"))
	g.comment("%s is the SHA-256 of the plan of stage %s.", g.name(digestSuffix), g.stage.Name)
	g.file.Const().Id(g.name(digestSuffix)).Op("=").Lit(g.stage.Digest)
	g.comment("%s is the SHA-256 of the CUDA and C text of stage %s, which an image of\nits kernels carries too. It also makes the go command see a change of that text.", g.name(kernelSuffix), g.stage.Name)
	g.file.Const().Id(g.name(kernelSuffix)).Op("=").Lit(kernels)
	g.file.Line()
	g.file.Comment("//go:embed " + planName(g.stage.Name))
	g.file.Var().Id(embedded(g.stage.Name)).Index().Byte()
	g.comment("%s loads the plan of stage %s.", g.name(planSuffix), g.stage.Name)
	g.file.Func().Id(g.name(planSuffix)).Params().Params(jen.Op("*").Add(replay("Plan")), jen.Error()).
		Block(jen.Return(replay("LoadPlan").Call(jen.Id(embedded(g.stage.Name)), jen.Id(g.name(digestSuffix)))))
	g.comment("%s are the wishes for stage %s.", g.name(optionSuffix), g.stage.Name)
	g.file.Type().Id(g.name(optionSuffix)).Op("=").Add(replay("StageOptions"))
}

// ports declares the typed inputs, outputs and cotangents.
func (g *goPrinter) ports() {
	s := g.stage
	g.comment("%s are what stage %s takes.", g.name(inputSuffix), s.Name)
	g.structure(inputSuffix, s.Inputs, func() *jen.Statement { return replay("Source") }, nil)
	g.comment("%s are what stage %s gives: read-only, and valid until its next pass\nof the same kind.", g.name(outputSuffix), s.Name)
	g.structure(outputSuffix, s.Outputs, tensor, func(p ir.Port) string {
		if p.TrainingOnly {
			return ", nil in evaluation"
		}
		return ""
	})
	g.comment("%s are the gradients of the objective for the outputs of stage %s.\nThe zero Source is an absent one: the objective did not use the output.", g.name(cotangentSuffix), s.Name)
	g.structure(cotangentSuffix, s.Outputs, func() *jen.Statement { return replay("Source") }, func(p ir.Port) string {
		if p.Optional {
			return ", may be absent"
		}
		return ""
	})
	g.comment("%s is the static memory of the cotangents of stage %s.", g.name(memorySuffix), s.Name)
	g.structure(memorySuffix, s.Outputs, tensor, nil)
}

// structure declares a struct with a field for each port.
func (g *goPrinter) structure(suffix string, ports []ir.Port, typ func() *jen.Statement, note func(ir.Port) string) {
	g.file.Type().Id(g.name(suffix)).Struct(g.fields(ports, typ, note)...)
}

func (g *goPrinter) fields(ports []ir.Port, typ func() *jen.Statement, note func(ir.Port) string) []jen.Code {
	var fields []jen.Code
	for _, p := range ports {
		text := fmt.Sprintf("%s is %s %s", exported(p.Name), p.Name, ir.ShapeText(g.stage.Tensor(p.Tensor).Shape))
		if note != nil {
			text += note(p)
		}
		fields = append(fields, jen.Comment(text+"."), jen.Id(exported(p.Name)).Add(typ()))
	}
	return fields
}

func (g *goPrinter) hasInputGradients() bool {
	return slices.ContainsFunc(g.stage.Inputs, func(p ir.Port) bool { return p.Differentiable })
}

// gradients declares what a backward pass gives.
func (g *goPrinter) gradients() {
	var fields []jen.Code
	if g.hasInputGradients() {
		var wanted []ir.Port
		for _, p := range g.stage.Inputs {
			if p.Differentiable {
				wanted = append(wanted, p)
			}
		}
		fields = append(fields,
			jen.Comment("Inputs holds the gradients of inputs; an absent one is nil."),
			jen.Id("Inputs").Struct(g.fields(wanted, tensor, nil)...))
	}
	name := g.name(gradientSuffix)
	g.comment("%s are what a backward pass of stage %s gave, valid until the next one\nor until gradients are cleared.", name, g.stage.Name)
	g.file.Type().Id(name).Struct(append(fields, jen.Id("stage").Op("*").Add(replay("Stage")))...)
	if len(g.stage.Parameters) == 0 {
		return
	}
	g.comment("Parameter gives the gradient of a parameter; nil when it is absent.")
	g.file.Func().Params(jen.Id("g").Id(name)).Id("Parameter").Params(jen.Id("p").Id(g.name(parameterSuffix))).
		Params(tensor(), replay("Presence")).
		Block(jen.Return(jen.Id("g").Dot("stage").Dot("Gradient").Call(jen.Int().Parens(jen.Id("p")))))
}

// row is one state entry.
type row struct{ name, shape string }

func parameterRows(s *ir.Stage) []row {
	rows := make([]row, len(s.Parameters))
	for i, p := range s.Parameters {
		rows[i] = row{p.Name, shapeText(p.Shape)}
	}
	return rows
}

func bufferRows(s *ir.Stage) []row {
	rows := make([]row, len(s.Buffers))
	for i, b := range s.Buffers {
		rows[i] = row{b.Name, shapeText(b.Shape)}
	}
	return rows
}

func shapeText(shape []int) string {
	return strings.ReplaceAll("("+strings.Trim(fmt.Sprint(shape), "[]")+")", " ", ", ")
}

// entries declares a constant for each state entry: its position in the plan.
func (g *goPrinter) entries(suffix, what string, rows []row) {
	if len(rows) == 0 {
		return
	}
	name := g.name(suffix)
	g.comment("%s names %s of stage %s.", name, what, g.stage.Name)
	g.file.Type().Id(name).Int()
	var constants []jen.Code
	for i, r := range rows {
		id := jen.Id(entry(g.stage.Name, suffix, r.name))
		if i == 0 {
			id = id.Id(name).Op("=").Iota()
		}
		constants = append(constants, jen.Comment(r.name+" "+r.shape), id)
	}
	g.comment("The state entries and their shapes.")
	g.file.Const().Defs(constants...)
}
