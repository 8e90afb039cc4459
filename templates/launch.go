package templates

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Launch is one kernel launch of an operation.
type Launch struct {
	Kernel Kernel
	Grid   [3]Expr

	// Scratch is the memory, in bytes, that the operation needs between its
	// launches. The launches of one lane share one piece of that memory.
	Scratch Expr

	// Kept is the amount of memory, by its number, that partial sums take which
	// the launch adds, those of earlier operations of the lane among them; 0 for
	// none.
	Kept int

	arguments []field
}

// Kernel is one instantiation of a kernel template. Two launches with equal
// constants have equal Kernels.
type Kernel struct {
	Name    string // without the prefix of the stage and the suffix of the precision
	Threads int    // of a block, all along x
	Blocks  int    // that a multiprocessor must be able to hold; 0 for any number
	Shared  int    // bytes of dynamic shared memory in the 16-bit precisions; the others need none
	Call    string // the template with its arguments
	Struct  string // type of the launch arguments
	File    string // that holds the template, without extension
}

// field is one member of the launch arguments, as C text.
type field struct{ name, value string }

// builder makes the launches of one operation.
type builder struct {
	stage    *ir.Stage
	op       *ir.Op
	nominal  ir.Sizes
	packed   map[ir.Ref]int // weight -> first element of its packed copy
	launches []Launch

	sums *sums // what a convolution sums of its result; nil for nothing
	rows Expr  // partial results of a channel that a convolution leaves, or has left
	left bool  // the first pass of a reduction has been done

	// The weight gradient whose first pass an input gradient makes, how many partial
	// results of it there are, and their address.
	weight        *ir.Conv2dWeightGradient
	weightRows    Expr
	weightPartial string

	blocks, shared int // of a kernel; see Kernel

	batch   *batch // second passes of weight gradients that wait on the lane
	amounts *amounts
}

// Launches gives the kernel launches of each operation of a program, in order;
// operations that do not take part in passes of the given mode have none.
// Every kind of kernel that a finished plan may hold has an entry in emit; the
// table in the documentation of each kind's function says how its grid and
// scratch memory follow from its shape.
//
// The second pass of a weight gradient may be a launch of a later one on the same
// lane, if no other operation uses the result.
func Launches(stage *ir.Stage, ops []ir.Op, mode ir.Mode) ([][]Launch, error) {
	return launches(stage, ops, mode, newAmounts())
}

func launches(stage *ir.Stage, ops []ir.Op, mode ir.Mode, amounts *amounts) ([][]Launch, error) {
	packed, err := packing(stage)
	if err != nil {
		return nil, err
	}
	gradients := together(stage, ops, mode)
	pairs, rows, partials := taken(stage, ops, mode), map[int]Expr{}, map[int]string{}
	end, batches := ends(stage, ops, mode), map[int]*batch{}
	all := make([][]Launch, len(ops))
	for i := range ops {
		if !in(&ops[i], mode) {
			continue
		}
		lane := ops[i].Lane
		if batches[lane] == nil {
			batches[lane] = &batch{}
		}
		b := &builder{stage: stage, op: &ops[i], nominal: nominal(stage), packed: packed.first, batch: batches[lane], amounts: amounts}
		b.rows, b.left = rows[i], rows[i].op != leaf
		reduction, sums := pairs[i]
		if sums {
			b.sums = sumsOf(&ops[reduction])
		}
		weight, both := gradients[i]
		if both {
			b.weight = ops[weight].Do.(*ir.Conv2dWeightGradient)
		}
		b.weightPartial = partials[i]
		err := b.check()
		if err == nil {
			err = b.emit()
		}
		if err != nil {
			return nil, wrap(&ops[i], err)
		}
		if sums {
			rows[reduction] = b.rows
		}
		if both {
			rows[weight], partials[weight] = b.weightRows, b.weightPartial
		}
		if end[i] || b.batch.full() {
			b.reduceBatch()
		}
		all[i] = b.launches
	}
	return all, nil
}

// wrap names the operation, and the line that made it, in an error.
func wrap(op *ir.Op, err error) error {
	return fmt.Errorf("%s: %s %s: %w", op.Pos, op.Do.Kind(), op.Name, err)
}

// check makes sure that every operand has been placed.
func (b *builder) check() error {
	err := knownFunction(b.op.Do)
	b.op.Do.Operands(func(role string, ref *ir.Ref, _ ir.Access) {
		if err == nil && *ref != 0 && b.stage.Tensor(*ref).Storage == 0 {
			err = fmt.Errorf("operand %s has no place in memory; run the passes first", role)
		}
	})
	return err
}

// emit adds the launches of the operation.
func (b *builder) emit() error {
	switch k := b.op.Do.(type) {
	case *ir.Conv2d:
		return b.conv2d(k)
	case *ir.BatchStatistics:
		return b.batchStatistics(k)
	case *ir.RunningStatistics:
		return b.runningStatistics(k)
	case *ir.Normalize:
		return b.normalize(k)
	case *ir.Activate:
		return b.elementwise(b.activation("activate_operation", k.Activation, k.Slope, k.Y), false, k.Y, k.X)
	case *ir.Add:
		return b.elementwise("add_operation", false, k.Y, k.A, k.B)
	case *ir.Multiply:
		return b.elementwise("multiply_operation", k.Accumulate, k.Y, k.A, k.B)
	case *ir.Scale:
		return b.elementwise("scale_operation<"+Bits(k.Factor)+">", k.Accumulate, k.Y, k.X)
	case *ir.LinearCombination:
		return b.combination(k)
	case *ir.NormalizeMatrices:
		return b.normalizeMatrices(k)
	case *ir.Copy:
		return b.elementwise("copy_operation", k.Accumulate, k.Y, k.X)
	case *ir.Fill:
		return b.elementwise("fill_operation<"+Bits(k.Value)+">", false, k.Y)
	case *ir.MaxPool:
		return b.maxPool(k)
	case *ir.AveragePool:
		return b.averagePool(k)
	case *ir.Upsample:
		return b.upsample(k)
	case *ir.MatMul:
		return b.matmul(k)
	case *ir.Softmax:
		return b.softmax(k)
	case *ir.Attention:
		return b.attention(k)
	case *ir.Dropout:
		return b.dropout(k)
	}
	return b.emitGradient()
}

// emitGradient is emit for the kinds that only backward passes use.
func (b *builder) emitGradient() error {
	switch k := b.op.Do.(type) {
	case *ir.Conv2dInputGradient:
		return b.conv2dInputGradient(k)
	case *ir.Conv2dWeightGradient:
		return b.conv2dWeightGradient(k)
	case *ir.NormalizeReduce:
		return b.normalizeReduce(k)
	case *ir.NormalizeGradient:
		return b.normalizeGradient(k)
	case *ir.ChannelSum:
		return b.channelSum(k)
	case *ir.ActivateGradient:
		return b.elementwise(b.activation("activate_gradient_operation", k.Activation, k.Slope, k.DX), k.Accumulate, k.DX, k.DY, k.X)
	case *ir.MaxPoolGradient:
		return b.maxPoolGradient(k)
	case *ir.AveragePoolGradient:
		return b.averagePoolGradient(k)
	case *ir.UpsampleGradient:
		return b.upsampleGradient(k)
	case *ir.SoftmaxGradient:
		return b.softmaxGradient(k)
	case *ir.AttentionGradient:
		return b.attentionGradient(k)
	}
	return fmt.Errorf("no kernel for this kind; it belongs to definitions, run the passes first")
}

// add appends a launch. arguments of the template come as Go values.
func (b *builder) add(file, template, structure string, threads int, grid [3]Expr, scratch Expr, arguments []field, constants ...any) {
	call := template
	if len(constants) > 0 {
		texts := make([]string, len(constants))
		for i, c := range constants {
			texts[i] = fmt.Sprint(c)
		}
		call += "<" + strings.Join(texts, ", ") + ">"
	}
	b.launches = append(b.launches, Launch{
		Kernel:    Kernel{Name: symbol(call), Threads: threads, Blocks: b.blocks, Shared: b.shared, Call: call, Struct: "reprise_" + structure + "_arguments", File: file},
		Grid:      grid,
		Scratch:   scratch,
		arguments: arguments,
	})
}

// symbol makes a C name from a template with its arguments, one to one: equal
// names mean equal constants.
func symbol(call string) string {
	words := strings.FieldsFunc(call, func(r rune) bool { return strings.ContainsRune("<>, ", r) })
	short := map[string]string{"false": "n", "true": "y", "element": "e", "float": "s", "index_t": "", "tf32": ""}
	var out []string
	for _, w := range words {
		if s, ok := short[w]; ok {
			w = s
		}
		if w != "" {
			out = append(out, strings.ReplaceAll(w, "convolution_shape", "shape"))
		}
	}
	return strings.Join(out, "_")
}

// grid1 is a grid along x alone.
func grid1(x Expr) [3]Expr { return [3]Expr{x, Number(1), Number(1)} }

// nominal gives the sizes at which tiles are chosen: batch 4 and 640 px, or the
// next sizes that the stage allows. Any choice is correct at any size.
func nominal(s *ir.Stage) ir.Sizes {
	up := func(multiple int) int {
		m := max(multiple, 1)
		return (640 + m - 1) / m * m
	}
	return ir.Sizes{Batch: 4, Height: up(s.Multiple.Height), Width: up(s.Multiple.Width)}
}
