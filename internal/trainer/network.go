package trainer

import (
	"fmt"

	"github.com/reprise-ml/reprise/runtime/replay"
)

// ImageInput is the input of a stage that is the batch of images; every other
// input is an output of an earlier stage, of the same name.
const ImageInput = "image"

// Network is the stages of a task in the order in which they run, joined by the
// names of their inputs and outputs. Values and gradients between them stay on
// the device. What a stage does never depends on which stages are recorded, so
// no option changes a byte.
type Network struct {
	stages  []*replay.Stage
	origins [][]port        // by stage and input: the output it reads
	readers [][][]port      // by stage and output: the inputs that read it, in order
	places  map[string]port // outputs by name
}

// port is an input or output of a stage; stage -1 is the images.
type port struct{ stage, index int }

// NewNetwork joins stages. Errors name what does not fit: an input that nothing
// gives, a name that is given twice, an input that would lose the gradient.
func NewNetwork(stages []*replay.Stage) (*Network, error) {
	n := &Network{stages: stages, places: map[string]port{}}
	for i, s := range stages {
		plan := s.Plan()
		var origins []port
		for k, in := range plan.Inputs {
			from, known := n.places[in.Name]
			switch {
			case in.Name == ImageInput:
				from = port{stage: -1}
			case !known:
				return nil, fmt.Errorf("stage %s: no earlier stage gives its input %s; run the stages in the order of their definition", plan.Name, in.Name)
			case !in.Differentiable:
				return nil, fmt.Errorf("stage %s: its input %s comes from stage %s but has no gradient; declare it with stage.Differentiable and generate again", plan.Name, in.Name, stages[from.stage].Plan().Name)
			default:
				n.readers[from.stage][from.index] = append(n.readers[from.stage][from.index], port{i, k})
			}
			origins = append(origins, from)
		}
		n.origins = append(n.origins, origins)
		n.readers = append(n.readers, make([][]port, len(plan.Outputs)))
		for k, out := range plan.Outputs {
			if _, twice := n.places[out.Name]; twice || out.Name == ImageInput {
				return nil, fmt.Errorf("stage %s: the output %s has the name of an earlier output or of the images; rename one", plan.Name, out.Name)
			}
			n.places[out.Name] = port{i, k}
		}
	}
	return n, nil
}

// Stages lists the stages in the order in which they run.
func (n *Network) Stages() []*replay.Stage { return append([]*replay.Stage(nil), n.stages...) }

// Forward runs all stages on images in training mode and gives the outputs that
// no later stage reads, by name.
func (n *Network) Forward(images replay.Source) (map[string]*replay.Tensor, error) {
	return n.run(images, false)
}

// Evaluate runs the stages on images in evaluation mode. A stage all of whose
// outputs exist in training only is left out, as are such outputs.
func (n *Network) Evaluate(images replay.Source) (map[string]*replay.Tensor, error) {
	return n.run(images, true)
}

func (n *Network) run(images replay.Source, evaluation bool) (map[string]*replay.Tensor, error) {
	results := map[string]*replay.Tensor{}
	outputs := make([][]*replay.Tensor, len(n.stages))
	for i, s := range n.stages {
		pass := s.Forward
		if evaluation {
			pass = s.Evaluate
			if trainingOnly(s) {
				outputs[i] = make([]*replay.Tensor, len(s.Plan().Outputs))
				continue
			}
		}
		inputs := make([]replay.Source, len(n.origins[i]))
		for k, from := range n.origins[i] {
			inputs[k] = images
			if from.stage >= 0 {
				inputs[k] = replay.FromTensor(outputs[from.stage][from.index])
			}
		}
		var err error
		if outputs[i], err = pass(inputs); err != nil {
			return nil, err
		}
		for k, t := range outputs[i] {
			if t != nil && len(n.readers[i][k]) == 0 {
				results[s.Plan().Outputs[k].Name] = t
			}
		}
	}
	return results, nil
}

// trainingOnly tells whether evaluation has no use for a stage.
func trainingOnly(s *replay.Stage) bool {
	for _, out := range s.Plan().Outputs {
		if !out.TrainingOnly {
			return false
		}
	}
	return true
}

// Backward runs the backward passes, last stage first. The cotangent of an
// output is that of the objective, by name, plus the input gradients of the
// later stages that read it, in the order of the stages. When all of these are
// absent so is the cotangent, and a stage without any has no backward pass: its
// parameters keep absent gradients.
func (n *Network) Backward(objective map[string]replay.Source) error {
	for name := range objective {
		if _, known := n.places[name]; !known {
			return fmt.Errorf("the objective gave a cotangent of %q, which no stage has as an output; name outputs as in the definition", name)
		}
	}
	for i := len(n.stages) - 1; i >= 0; i-- {
		s := n.stages[i]
		cotangents := make([]replay.Source, len(s.Plan().Outputs))
		for k, out := range s.Plan().Outputs {
			var err error
			if cotangents[k], err = n.cotangent(port{i, k}, objective[out.Name]); err != nil {
				return fmt.Errorf("stage %s: cotangent of %s: %w", s.Plan().Name, out.Name, err)
			}
		}
		if err := s.Backward(cotangents); err != nil {
			return err
		}
	}
	return nil
}

// cotangent sums what is present into the memory that the stage reads it from.
func (n *Network) cotangent(of port, own replay.Source) (replay.Source, error) {
	var parts []*replay.Tensor
	for _, r := range n.readers[of.stage][of.index] {
		if d, presence := n.stages[r.stage].InputGradient(r.index); presence == replay.Present {
			parts = append(parts, d)
		}
	}
	switch {
	case len(parts) == 0:
		return own, nil
	case len(parts) == 1 && !own.Present():
		return replay.FromTensor(parts[0]), nil
	case !own.Present():
		own, parts = replay.FromTensor(parts[0]), parts[1:]
	}
	sum, err := n.stages[of.stage].Cotangent(of.index)
	if err != nil {
		return replay.Source{}, err
	}
	if err := own.CopyTo(sum); err != nil {
		return replay.Source{}, err
	}
	for _, p := range parts {
		if err := sum.Add(p); err != nil {
			return replay.Source{}, err
		}
	}
	return replay.FromTensor(sum), nil
}
