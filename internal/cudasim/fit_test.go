package cudasim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// trial is a short fit of the small network.
type trial struct {
	steps   int
	batch   int // images of a full batch; the second step has one image less if it can
	pixels  int // height and width
	capture bool
	stop    int // operations after which the fit is given up; 0 for never
}

// outcome is what a trial left.
type outcome struct {
	digest  string // of all state after the last step
	report  replay.StageReport
	stopped bool
}

var errStopped = errors.New("stopped")

// run opens a device, runs the trial and closes everything. What Close returns
// belongs to the error.
func (c trial) run(open func() (device.Device, error)) (out outcome, err error) {
	d, err := open()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return c.on(d)
}

// on runs the trial on an open device.
func (c trial) on(d device.Device) (out outcome, err error) {
	fit, err := replay.NewFit(d, replay.Settings{Seed: 7, Batch: c.batch})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, fit.Close()) }()
	plan, err := small.Plan()
	if err != nil {
		return out, err
	}
	s, err := fit.AddStage(plan, replay.StageOptions{Capture: c.capture, Option: "capture_network"})
	if err != nil {
		return out, err
	}
	err = c.train(s)
	out.report = fit.Report().Stages[0]
	if errors.Is(err, errStopped) {
		out.stopped = true
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.digest, err = digest(fit)
	return out, err
}

// train makes the steps. The objective is half the sum of squares of the outputs,
// divided by 64; the optimizer is plain gradient descent.
func (c trial) train(s *replay.Stage) error {
	operations := 0
	stop := func() error {
		if operations++; operations == c.stop {
			return errStopped
		}
		return nil
	}
	for step := range c.steps {
		images := c.batch
		if step == 1 && images > 1 {
			images--
		}
		out, err := s.Forward([]replay.Source{replay.Float32s(values(uint64(step), images*3*c.pixels*c.pixels), images, 3, c.pixels, c.pixels)})
		if err = errors.Join(err, stop()); err != nil {
			return err
		}
		cotangents, err := gradientOf(out)
		if err = errors.Join(err, stop()); err != nil {
			return err
		}
		if err = errors.Join(s.Backward(cotangents), stop()); err != nil {
			return err
		}
		if err = errors.Join(descend(s), stop()); err != nil {
			return err
		}
	}
	return nil
}

func gradientOf(outputs []*replay.Tensor) ([]replay.Source, error) {
	cotangents := make([]replay.Source, len(outputs))
	for i, o := range outputs {
		v := make([]float32, device.Elements(o.Shape()))
		if err := o.ReadFloat32(v); err != nil {
			return nil, err
		}
		for j := range v {
			v[j] /= 64
		}
		cotangents[i] = replay.Float32s(v, o.Shape()...)
	}
	return cotangents, nil
}

func descend(s *replay.Stage) error {
	for i := range s.Plan().Parameters {
		gradient, presence := s.Gradient(i)
		if presence == replay.Absent {
			continue
		}
		n := device.Elements(gradient.Shape())
		g, w := make([]float32, n), make([]float32, n)
		if err := errors.Join(gradient.ReadFloat32(g), s.Parameter(i).ReadFloat32(w)); err != nil {
			return err
		}
		for j := range w {
			w[j] -= 1e-3 * g[j]
		}
		if err := s.Parameter(i).WriteFloat32(w); err != nil {
			return err
		}
	}
	s.ClearGradients()
	return nil
}

func digest(fit *replay.Fit) (string, error) {
	entries, err := fit.Snapshot()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(sum, "%+v\n", e)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func values(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 11))
	v := make([]float32, n)
	for i := range v {
		v[i] = r.Float32() - 0.5
	}
	return v
}
