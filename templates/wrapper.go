package templates

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// Wrapper prints the C text of a stage, source and header: one function for the
// launches of each operation, the programs as tables of steps, and what a back
// end needs to size, run and record them (see Context). The one symbol exported
// is reprise_<package>_<stage>_stage.
func Wrapper(stage *ir.Stage, pkg string) (source, header []byte, err error) {
	p, err := plan(stage, pkg)
	if err != nil {
		return nil, nil, err
	}
	arguments, err := argumentsText()
	if err != nil {
		return nil, nil, err
	}
	context, err := Context()
	if err != nil {
		return nil, nil, err
	}
	data := struct {
		*planned
		Arguments, Context string
	}{p, arguments, string(context)}
	if source, err = execute("wrap/stage.c.tmpl", data); err != nil {
		return nil, nil, err
	}
	header, err = execute("wrap/stage.h.tmpl", data)
	return source, header, err
}

// Nodes counts the kernel launches of each program of a stage, which are the nodes
// of its recording: the forward programs in training and in evaluation, then the
// backward programs in the order of the plan.
func Nodes(stage *ir.Stage, pkg string) ([]int, error) {
	p, err := plan(stage, pkg)
	if err != nil {
		return nil, err
	}
	var nodes []int
	for _, program := range p.Programs {
		nodes = append(nodes, program.Nodes)
	}
	return nodes, nil
}

// argumentsText is the text of the argument structures that the C compiler
// shares with the CUDA compiler.
func argumentsText() (string, error) {
	s, err := readSection("arguments.h")
	return s.text + "\n\n", err
}

// Context is the C header that a back end shares with every wrapper. It is
// printed into each generated header, so that a generated package needs no file
// of another module.
func Context() ([]byte, error) { return files.ReadFile("wrap/context.h") }

// Symbol names the table that the wrapper of a stage exports.
func Symbol(stage, pkg string) string { return "reprise_" + pkg + "_" + stage + "_stage" }
