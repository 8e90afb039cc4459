package stage

import (
	"fmt"
	"runtime/debug"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Definition is a named stage: what Define returns and what `reprise gen`
// looks for among the variables of a package.
type Definition struct {
	name  string
	build func(*Builder)
	pos   ir.Pos
}

// Define names a stage and the function that describes it. The function runs
// at generate time, more than once, and must depend on nothing but its
// arguments and constants.
//
// It is not inlined: a call that is inlined into the initialisation of a
// package has lost its line.
//
//go:noinline
func Define(name string, build func(*Builder)) *Definition {
	return &Definition{name: name, build: build, pos: author()}
}

// Name is the name of the stage.
func (d *Definition) Name() string { return d.name }

// Pos is where the stage was defined.
func (d *Definition) Pos() ir.Pos { return d.pos }

// Build runs the definition and returns the stage as its author wrote it. The
// error is a Mistakes when the definition has any.
func (d *Definition) Build() (*ir.Stage, error) {
	first, err := d.once()
	if err != nil {
		return nil, err
	}
	second, err := d.once()
	if err != nil {
		return nil, err
	}
	if err := d.compare(first, second); err != nil {
		return nil, err
	}
	return first, nil
}

// once runs the definition one time.
func (d *Definition) once() (*ir.Stage, error) {
	core := newCore(d)
	b := &Builder{core: core}
	core.checkName("stage", d.name, d.pos)
	if d.build == nil {
		core.mistake(d.pos, "define", "the definition has no function", "pass a func(*stage.Builder)")
	} else if runBuild(core, b, d.build) {
		core.finish()
	}
	if len(core.mistakes) > 0 {
		return nil, core.mistakes
	}
	return core.stage, nil
}

// runBuild turns a panic of the author's code into a mistake with its place,
// and tells whether the code came to its end.
func runBuild(core *core, b *Builder, build func(*Builder)) (completed bool) {
	defer func() {
		if r := recover(); r != nil {
			pos := panicPos(debug.Stack(), core.def.pos)
			core.mistake(pos, "define", fmt.Sprintf("the definition panicked: %v", r), "fix the Go code at this line")
		}
	}()
	build(b)
	return true
}

// compare finds out whether two runs of one definition gave the same stage: a
// definition that reads or changes state outside itself does not.
func (d *Definition) compare(first, second *ir.Stage) error {
	one, err := ir.Encode(first)
	if err != nil {
		return err
	}
	two, err := ir.Encode(second)
	if err != nil {
		return err
	}
	if string(one) == string(two) {
		return nil
	}
	return Mistakes{{
		Pos: d.pos, Stage: d.name, Op: "define",
		Problem: "hidden state: two runs of the definition gave different stages",
		Remedy:  "let it depend only on its arguments and constants",
	}}
}
