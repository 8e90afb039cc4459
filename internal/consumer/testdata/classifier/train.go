package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"

	"example.com/classifier/classifier"
	"example.com/classifier/definition"
)

const (
	batch = 12
	side  = 16
	steps = 40
	rate  = 0.1
)

// result is what one fit gave.
type result struct {
	Losses   []float64          `json:"losses"`
	SHA256   string             `json:"sha256"` // of all state entries
	Stage    replay.StageReport `json:"stage"`
	Warnings []string           `json:"warnings"`
}

// train runs one fit of plain gradient descent.
func train(capture bool) (r result, err error) {
	device := host.Open(host.Options{})
	defer device.Close()
	fit, err := replay.NewFit(device, replay.Settings{Seed: 1, Batch: batch})
	if err != nil {
		return r, err
	}
	defer fit.Close()
	network, err := classifier.New(fit, classifier.Options{Capture: capture})
	if err != nil {
		return r, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range steps {
		pixels, classes := draw(random)
		loss, err := step(network, pixels, classes)
		if err != nil {
			return r, err
		}
		r.Losses = append(r.Losses, loss)
	}
	state, err := fit.Snapshot()
	if err != nil {
		return r, err
	}
	r.SHA256 = hash(state)
	report := fit.Report()
	r.Stage, r.Warnings = report.Stages[0], report.Warnings
	return r, nil
}

// draw makes images whose class is the brightest channel.
func draw(random *rand.Rand) (pixels []uint8, classes []int) {
	for range batch {
		class := random.IntN(definition.Classes)
		classes = append(classes, class)
		for range side * side {
			for channel := range 3 {
				bright := 60 + random.IntN(80)
				if channel == class {
					bright += 60
				}
				pixels = append(pixels, uint8(bright))
			}
		}
	}
	return pixels, classes
}

func step(network *classifier.Stage, pixels []uint8, classes []int) (float64, error) {
	network.Replay().ClearGradients()
	out, err := network.Forward(classifier.Inputs{Image: replay.Images(pixels, batch, side, side)})
	if err != nil {
		return 0, err
	}
	logits := make([]float32, batch*definition.Classes)
	if err := out.Logits.ReadFloat32(logits); err != nil {
		return 0, err
	}
	loss, cotangent := crossEntropy(logits, classes)
	gradients, err := network.Backward(classifier.Cotangents{Logits: replay.Float32s(cotangent, batch, definition.Classes)})
	if err != nil {
		return 0, err
	}
	for i := range network.Replay().Plan().Parameters {
		p := classifier.Parameter(i)
		gradient, presence := gradients.Parameter(p)
		if presence == replay.Absent {
			continue
		}
		if err := descend(network.Parameter(p), gradient); err != nil {
			return 0, err
		}
	}
	return loss, nil
}

// crossEntropy is the mean loss of a batch and its gradient for the logits.
func crossEntropy(logits []float32, classes []int) (float64, []float32) {
	total := 0.0
	cotangent := make([]float32, len(logits))
	for i, class := range classes {
		row := logits[i*definition.Classes : (i+1)*definition.Classes]
		sum := 0.0
		for _, v := range row {
			sum += math.Exp(float64(v))
		}
		total += math.Log(sum) - float64(row[class])
		for j, v := range row {
			g := math.Exp(float64(v)) / sum
			if j == class {
				g--
			}
			cotangent[i*definition.Classes+j] = float32(g / batch)
		}
	}
	return total / batch, cotangent
}

func descend(weights, gradient *replay.Tensor) error {
	n := 1
	for _, d := range weights.Shape() {
		n *= d
	}
	w, g := make([]float32, n), make([]float32, n)
	if err := weights.ReadFloat32(w); err != nil {
		return err
	}
	if err := gradient.ReadFloat32(g); err != nil {
		return err
	}
	for i := range w {
		w[i] -= rate * g[i]
	}
	return weights.WriteFloat32(w)
}

func hash(state []replay.Entry) string {
	sum := sha256.New()
	for _, e := range state {
		for _, values := range []any{[]byte(e.Name), e.Float32, e.Int64} {
			if err := binary.Write(sum, binary.LittleEndian, values); err != nil {
				panic(err) // a hash accepts every write of plain values
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
