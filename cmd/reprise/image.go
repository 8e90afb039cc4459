package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/gen/image"
)

// defaultPrecisions are those that fits are run in.
var defaultPrecisions = []string{"fp32", "fp16", "bf16"}

func newImageCommand() *cobra.Command {
	var compiler, cache, out string
	var jobs int
	var precisions, targets []string
	var wide bool
	command := &cobra.Command{
		Use:   "image [flags] FOLDER...",
		Short: "Compile the kernels of generated packages",
		Long: `Compile the kernels of generated packages.

Each folder is a generated package. The image of each of its stages is written
beside the kernels' source, where builds with -tags cuda embed it. It carries the
digest of that source: an image of other source is refused when it is loaded.`,
		Example: `  reprise image generated/obb
  reprise image -targets sm_90 -precisions bf16 generated/obb
  reprise image -compiler clang -precisions fp32 generated/detect generated/obb`,
		Args: atLeastOne("name the folders of generated packages, such as generated/obb"),
		RunE: func(command *cobra.Command, folders []string) error {
			config, err := imageConfig(command.Context(), compiler, targets, precisions, wide)
			if err != nil {
				return err
			}
			config.Cache, config.Out, config.Jobs = cache, out, jobs
			return buildImages(command, folders, config)
		},
	}
	flags := command.Flags()
	flags.StringVar(&compiler, "compiler", "nvcc", "nvcc, or clang, which needs no CUDA toolkit and makes PTX")
	flags.StringSliceVar(&precisions, "precisions", defaultPrecisions, "precisions to compile for, of fp32, tf32, fp16 and bf16")
	flags.StringSliceVar(&targets, "targets", image.DefaultTargets, "what nvcc compiles for: machine code such as sm_90, and compute_80 for PTX")
	flags.BoolVar(&wide, "wide", false, "add kernels with 64-bit indices, for tensors of more than 2^31 elements")
	flags.StringVar(&cache, "cache", "", "folder that keeps compiled kernels (default: one in the user's cache folder)")
	flags.StringVar(&out, "out", "", "folder for images that a program shall find through the environment variable REPRISE_IMAGES")
	flags.IntVar(&jobs, "jobs", 0, "compilers that run at a time (default: one for each processor)")
	return command
}

func imageConfig(ctx context.Context, compiler string, targets, precisions []string, wide bool) (config image.Config, err error) {
	if config.Compiler, err = image.FindCompiler(ctx, compiler, targets); err == nil {
		config.Variants, err = image.Variants(precisions, wide)
	}
	return config, err
}

func buildImages(command *cobra.Command, folders []string, config image.Config) error {
	for _, folder := range folders {
		results, err := image.Build(command.Context(), folder, config)
		for _, r := range results {
			command.PrintErrf("%s: %d KiB, %d of %d units compiled\n", r.Path, (r.Bytes+1023)/1024, r.Compiled, r.Units)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
