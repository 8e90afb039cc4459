package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/reprise-ml/reprise/gen/ir"
)

// This file prints the calls into the runtime.

// load prints the stage type, its constructor and the access to its state.
func (g *goPrinter) load() {
	s, typ, create := g.stage.Name, g.name(stageSuffix), constructor(g.stage.Name)
	g.comment("%s is stage %s inside a fit.", typ, s)
	g.file.Type().Id(typ).Struct(jen.Id("stage").Op("*").Add(replay("Stage")))
	g.comment("%s loads stage %s into a fit.", create, s)
	g.file.Func().Id(create).
		Params(jen.Id("fit").Op("*").Add(replay("Fit")), jen.Id("options").Id(g.name(optionSuffix))).
		Params(jen.Op("*").Id(typ), jen.Error()).
		Block(
			jen.List(jen.Id("plan"), jen.Err()).Op(":=").Id(g.name(planSuffix)).Call(),
			failed(jen.Nil()),
			jen.List(jen.Id("stage"), jen.Err()).Op(":=").Id("fit").Dot("AddStage").Call(jen.Id("plan"), jen.Id("options")),
			failed(jen.Nil()),
			jen.Return(jen.Op("&").Id(typ).Values(jen.Dict{jen.Id("stage"): jen.Id("stage")}), jen.Nil()),
		)
	g.comment("Replay gives the stage as the runtime knows it: guards, observers, plan.")
	g.method("Replay").Params().Op("*").Add(replay("Stage")).Block(jen.Return(runtimeStage()))
	if len(g.stage.Parameters) > 0 {
		g.comment("Parameter gives the master weights of a parameter.")
		g.access(parameterSuffix)
	}
	if len(g.stage.Buffers) > 0 {
		g.comment("Buffer gives the state of a buffer.")
		g.access(bufferSuffix)
	}
}

func (g *goPrinter) method(name string) *jen.Statement {
	return g.file.Func().Params(jen.Id("s").Op("*").Id(g.name(stageSuffix))).Id(name)
}

func (g *goPrinter) access(suffix string) {
	g.method(suffix).Params(jen.Id("i").Id(g.name(suffix))).Add(tensor()).
		Block(jen.Return(runtimeStage().Dot(suffix).Call(jen.Int().Parens(jen.Id("i")))))
}

func runtimeStage() *jen.Statement { return jen.Id("s").Dot("stage") }

// failed returns the error with zero values before it.
func failed(zero ...jen.Code) *jen.Statement {
	return jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(append(zero, jen.Err())...))
}

// calls prints the passes.
func (g *goPrinter) calls() {
	g.comment("Forward runs the training forward pass, replayed or natively.")
	g.forward("Forward")
	g.comment("Evaluate runs the evaluation forward pass, natively.")
	g.forward("Evaluate")
	g.comment("Memory gives the static memory of the cotangents of the current step, for\nobjectives that write on the device; pass what was written to Backward with\nreplay.FromTensor.")
	g.memory()
	g.comment("Backward runs the backward pass of the last Forward. What only absent\ncotangents reach has absent gradients.")
	g.backward()
}

func (g *goPrinter) forward(pass string) {
	outputs := g.name(outputSuffix)
	var results []jen.Code
	for i, p := range g.stage.Outputs {
		results = append(results, jen.Id(exported(p.Name)).Op(":").Id("out").Index(jen.Lit(i)))
	}
	g.method(pass).Params(jen.Id("in").Id(g.name(inputSuffix))).Params(jen.Id(outputs), jen.Error()).
		Block(
			jen.List(jen.Id("out"), jen.Err()).Op(":=").Add(runtimeStage()).Dot(pass).Call(sources("in", g.stage.Inputs)),
			failed(jen.Id(outputs).Values()),
			jen.Return(jen.Id(outputs).Custom(lines, results...), jen.Nil()),
		)
}

// lines puts every element of a literal on a line of its own.
var lines = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}

// sources lists the fields of a struct in the order of the plan.
func sources(from string, ports []ir.Port) *jen.Statement {
	var fields []jen.Code
	for _, p := range ports {
		fields = append(fields, jen.Id(from).Dot(exported(p.Name)))
	}
	return jen.Index().Add(replay("Source")).Custom(lines, fields...)
}

func (g *goPrinter) memory() {
	name := g.name(memorySuffix)
	var body []jen.Code
	body = append(body, jen.Var().Id("m").Id(name), jen.Var().Err().Error())
	for i, p := range g.stage.Outputs {
		target := jen.Id("m").Dot(exported(p.Name))
		body = append(body, jen.If(
			jen.List(target, jen.Err()).Op("=").Add(runtimeStage()).Dot("Cotangent").Call(jen.Lit(i)),
			jen.Err().Op("!=").Nil(),
		).Block(jen.Return(jen.Id(name).Values(), jen.Err())))
	}
	body = append(body, jen.Return(jen.Id("m"), jen.Nil()))
	g.method("Memory").Params().Params(jen.Id(name), jen.Error()).Block(body...)
}

func (g *goPrinter) backward() {
	name := g.name(gradientSuffix)
	body := []jen.Code{
		jen.If(
			jen.Err().Op(":=").Add(runtimeStage()).Dot("Backward").Call(sources("cotangents", g.stage.Outputs)),
			jen.Err().Op("!=").Nil(),
		).Block(jen.Return(jen.Id(name).Values(), jen.Err())),
		jen.Id("g").Op(":=").Id(name).Values(jen.Dict{jen.Id("stage"): runtimeStage()}),
	}
	for i, p := range g.stage.Inputs {
		if p.Differentiable {
			body = append(body, jen.List(jen.Id("g").Dot("Inputs").Dot(exported(p.Name)), jen.Id("_")).Op("=").Add(runtimeStage()).Dot("InputGradient").Call(jen.Lit(i)))
		}
	}
	g.method("Backward").Params(jen.Id("cotangents").Id(g.name(cotangentSuffix))).Params(jen.Id(name), jen.Error()).
		Block(append(body, jen.Return(jen.Id("g"), jen.Nil()))...)
}
