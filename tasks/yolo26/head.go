package yolo26

import (
	"fmt"
	"math"
	"strconv"

	"github.com/reprise-ml/reprise/gen/stage"
)

// classPrior is the foreground probability that class logits start at (RetinaNet,
// arXiv:1708.02002).
const classPrior = 0.01

// classBias is the start of every class logit, -ln((1-prior)/prior): without it
// the first losses are dominated by background and training collapses.
func classBias() stage.Bias { return stage.ConstantBias(-math.Log((1 - classPrior) / classPrior)) }

// Task says what a head predicts for each anchor beside its box.
type Task struct {
	// Classes is the number of class logits, at least 1.
	Classes int
	// Coefficients is the number of mask coefficients; 0 without masks.
	Coefficients int
	// Angle says whether boxes are rotated.
	Angle bool
	// Points is the number of keypoints; 0 without.
	Points int
}

// Detection is the task of axis-aligned boxes.
func Detection(classes int) Task { return Task{Classes: classes} }

// Segmentation is the task of boxes with masks.
func Segmentation(classes int) Task { return Task{Classes: classes, Coefficients: Prototypes} }

// Oriented is the task of rotated boxes.
func Oriented(classes int) Task { return Task{Classes: classes, Angle: true} }

// Pose is the task of boxes with keypoints.
func Pose(classes, points int) Task { return Task{Classes: classes, Points: points} }

// Branch holds what one branch of a head predicts. A is the number of anchors,
// the positions of all three levels one after the other, each row-major. A field
// that the task does not have is the zero Tensor.
type Branch struct {
	Name        string       // o2m or o2o
	Class       stage.Tensor // (N, A, classes): logits
	Box         stage.Tensor // (N, A, 4): left, top, right, bottom in stride units
	Coefficient stage.Tensor // (N, A, coefficients), after tanh
	Angle       stage.Tensor // (N, A, 1): radians
	Keypoint    stage.Tensor // (N, A, 4*points): offsets x, y in stride units and raw spreads x, y of each point
}

// Head builds both branches, which share nothing but the levels. The one-to-one
// branch is declared first, as state entries are ordered; the result is in the
// order of outputs, one-to-many first (YOLO26 specification, network section 7).
func Head(b *stage.Builder, levels Levels, task Task) [2]Branch {
	if problem := task.problem(); problem != "" {
		panic(problem) // a mistake of the definition, which Build reports with its place
	}
	oneToOne := branch(b, "o2o", levels, task)
	oneToMany := branch(b, "o2m", levels, task)
	return [2]Branch{oneToMany, oneToOne}
}

// problem says what is wrong with a task, if anything is.
func (t Task) problem() string {
	switch {
	case t.Classes < 1:
		return fmt.Sprintf("a head with %d classes; give at least 1", t.Classes)
	case t.Coefficients < 0:
		return fmt.Sprintf("a head with %d mask coefficients; give 0 or more", t.Coefficients)
	case t.Points < 0:
		return fmt.Sprintf("a head with %d keypoints; give 0 or more", t.Points)
	}
	return ""
}

func branch(b *stage.Builder, name string, levels Levels, task Task) Branch {
	b = b.Scope("head", name)
	out := Branch{Name: name}
	out.Box = stems(b.Scope("box_stems"), levels, stem{divisor: 3, out: 4, bias: stage.UniformBias})
	out.Class = stems(b.Scope("cls_stems"), levels, stem{divisor: 3, out: task.Classes, bias: classBias()})
	if task.Coefficients > 0 {
		out.Coefficient = coefficients(b, levels, task.Coefficients)
	}
	if task.Angle {
		out.Angle = stems(b.Scope("angle_stems"), levels, stem{divisor: 2, out: 1, bias: stage.UniformBias})
	}
	if task.Points > 0 {
		out.Keypoint = stems(b.Scope("keypoint_stems"), levels, stem{divisor: 3, out: 4 * task.Points, bias: stage.UniformBias})
	}
	return out
}

// Coefficients builds the mask coefficients of both branches without the rest of
// their heads, for a network whose coefficients are a stage of their own. Names
// and order are those of Head; the other fields of the result are zero Tensors.
func Coefficients(b *stage.Builder, levels Levels) [2]Branch {
	alone := func(name string) Branch {
		return Branch{Name: name, Coefficient: coefficients(b.Scope("head", name), levels, Prototypes)}
	}
	oneToOne := alone("o2o")
	oneToMany := alone("o2m")
	return [2]Branch{oneToMany, oneToOne}
}

func coefficients(b *stage.Builder, levels Levels, number int) stage.Tensor {
	b = b.Scope("coeff_stems")
	return b.Tanh(stems(b, levels, stem{divisor: 3, out: number, bias: stage.UniformBias}))
}

// stem describes one kind of output: its hidden width is the level's width over
// divisor, at least minStem.
type stem struct {
	divisor int
	out     int
	bias    stage.Bias
}

const minStem = 16

// stems builds a stem per level and joins their anchors: (N, A, out).
func stems(b *stage.Builder, levels Levels, s stem) stage.Tensor {
	var rows []stage.Tensor
	for i, level := range levels {
		rows = append(rows, b.Anchors(s.build(b.Scope(strconv.Itoa(i)), level)))
	}
	return b.ConcatRows(rows...)
}

// build is two separable convolutions and a plain one with bias: (N, C, H, W)
// to (N, out, H, W). State entries: 0.0, 0.1, 1.0, 1.1, 2.
func (s stem) build(b *stage.Builder, x stage.Tensor) stage.Tensor {
	hidden := max(minStem, x.Channels()/s.divisor)
	x = Separable(b.Scope("0"), x, hidden)
	x = Separable(b.Scope("1"), x, hidden)
	return b.Scope("2").Conv2d(x, stage.Conv{Out: s.out, Bias: s.bias})
}
