package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/gen"
	"github.com/reprise-ml/reprise/gen/commit"
	"github.com/reprise-ml/reprise/gen/image"
)

func newGenCommand() *cobra.Command {
	var config gen.Config
	var check, diff, images bool
	command := &cobra.Command{
		Use:   "gen [flags] PATTERN...",
		Short: "Generate packages from the stage definitions of Go packages",
		Long: `Generate packages from the stage definitions of Go packages.

Patterns name packages as for the go command. The definitions are the variables
of type *stage.Definition; all that the patterns name become one package in the
folder -out, which has the name of that folder.

Kernel images that were compiled from other source than what is generated are
removed; -images compiles new ones (see reprise image).`,
		Example: `  reprise gen ./tasks/detect ./tasks/obb
  reprise gen -check -out generated/obb ./tasks/obb`,
		Args: atLeastOne("name the packages with the definitions, such as ./tasks/obb"),
		RunE: func(command *cobra.Command, patterns []string) error {
			config.Patterns = patterns
			changes, err := gen.Plan(command.Context(), config)
			if err != nil {
				return err
			}
			if check || diff {
				for _, c := range changes {
					command.Print(c.Diff())
				}
			}
			switch {
			case check:
				return stale(changes)
			case diff:
				return nil
			}
			if !images {
				return write(command, changes)
			}
			compiled, err := imageConfig(command.Context(), "nvcc", image.DefaultTargets, defaultPrecisions, false)
			if err != nil {
				return err
			}
			if err := write(command, changes); err != nil {
				return err
			}
			return buildImages(command, folders(changes), compiled)
		},
	}
	flags := command.Flags()
	flags.StringVar(&config.Out, "out", "", "folder of the generated package (default: generated/NAME for each definition package NAME)")
	flags.StringVar(&config.Dump, "dump", "", "folder that receives the text of each stage after each pass")
	flags.BoolVar(&check, "check", false, "write nothing; print a diff and fail when files are stale")
	flags.BoolVar(&diff, "diff", false, "write nothing; print what would change")
	flags.BoolVar(&images, "images", false, "compile the kernels with nvcc too")
	return command
}

// stale is the error of -check, nil when every file is as it should be.
func stale(changes []commit.Changes) error {
	var names []string
	for _, c := range changes {
		names = append(names, c.Names()...)
	}
	if len(names) == 0 {
		return nil
	}
	return errors.New(strings.Join(names, "\n") + "\ngenerated files are not those of the definitions; run go generate")
}

func write(command *cobra.Command, changes []commit.Changes) error {
	for _, c := range changes {
		if err := c.Write(); err != nil {
			return err
		}
		command.PrintErrf("%s: %d files written or removed\n", c.Dir, len(c.Files))
		stale, err := image.Discard(c.Dir)
		for _, path := range stale {
			command.PrintErrf("%s: removed, it was compiled from other source; run reprise image %s\n", path, c.Dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func folders(changes []commit.Changes) []string {
	var dirs []string
	for _, c := range changes {
		dirs = append(dirs, c.Dir)
	}
	return dirs
}
