package trainer

import (
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/runtime/device"
)

// OptionsOf turns settings into options.
func OptionsOf(s *config.Settings) Options {
	var scale *optim.LossScalerOptions
	if s.Trainer.Precision == string(device.FP16) {
		dynamic := optim.DefaultLossScalerOptions()
		scale = &dynamic
	}
	return Options{
		LossScale:              scale,
		Precision:              device.Precision(s.Trainer.Precision),
		CaptureNetwork:         s.Model.CaptureNetwork,
		CaptureSegmentHeads:    s.Model.CaptureSegmentHeads,
		CaptureOptimizer:       s.Model.CaptureOptimizer,
		CaptureFull:            s.Model.CaptureFull,
		Strict:                 s.Trainer.Strict,
		MaxEpochs:              s.Trainer.MaxEpochs,
		BatchSize:              s.Data.BatchSize,
		Accumulate:             s.Trainer.Accumulate,
		AccumulateWarmupEpochs: s.Trainer.AccumulateWarmupEpochs,
		Clip:                   s.Trainer.GradientClip,
		TrainerSeed:            s.Trainer.Seed,
		DataSeed:               s.Data.Seed,
		Rate:                   optim.LearningRateOptions{LR: s.Optim.LR, LRF: s.Optim.LRF, WarmupEpochs: s.Optim.WarmupEpochs},
		Optimizer: optim.MuSGDOptions{
			Momentum: s.Optim.Momentum, WeightDecay: s.Optim.WeightDecay,
			WMuon: s.Optim.WMuon, WSGD: s.Optim.WSGD, NSSteps: s.Optim.NSSteps,
		},
		Average:       optim.EMAOptions{Decay: s.Optim.EMADecay, Tau: s.Optim.EMATau, UpdateEvery: s.Optim.EMAUpdateEvery},
		BranchWeight:  optim.BranchWeight{Alpha: s.Loss.Alpha, AlphaInit: s.Loss.AlphaInit, AlphaFinal: s.Loss.AlphaFinal},
		Configuration: s.HyperParameters(),
		Defaults:      s.DefaultHyperParameters(),
		Dir:           s.Run.Dir,
		Resume:        s.Run.Resume,
		Weights:       s.Run.Weights,
	}
}
