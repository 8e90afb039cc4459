package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/survey"
)

// newDataCommand makes the commands that look at data sets.
func newDataCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "data",
		Short: "Check, draw and tile data sets",
	}
	command.AddCommand(newDataCheckCommand(), newDataTileCommand(), newDataViewCommand())
	return command
}

// errNoData is what the data commands answer without a data set.
var errNoData = errors.New("-data is not set; give a data.yaml file or the root of a COCO or DOTA data set")

func newDataCheckCommand() *cobra.Command {
	var file, task string
	var asJSON bool
	command := &cobra.Command{
		Use:   "check",
		Short: "List every fault of a data set and count what it holds",
		Long: `Read every image and label of a data set. Every fault is listed with file and
line; then come counts, the instances of every class and a histogram of box
sizes. The exit code is 1 when there is a fault.`,
		Example: `  reprise data check -data data.yaml
  reprise data check -data coco -task detect -json`,
		Args: run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if file == "" {
				return errNoData
			}
			report, err := survey.Check(command.Context(), file, task)
			if err != nil {
				return err
			}
			write := report.WriteText
			if asJSON {
				write = report.WriteJSON
			}
			if err := write(command.OutOrStdout()); err != nil {
				return err
			}
			if report.Faults > 0 {
				return fmt.Errorf("%s has faults; correct them as the list says", report.File)
			}
			return nil
		},
	}
	dataFlags(command, &file)
	taskFlag(command, &task)
	command.Flags().BoolVar(&asJSON, "json", false, "write the report as JSON")
	return command
}

// dataFlags adds the flag of the data set.
func dataFlags(command *cobra.Command, file *string) {
	command.Flags().StringVar(file, "data", "", "`FILE` data.yaml, or the root directory of a data set")
}

// taskFlag adds the flag of the task whose labels are read.
func taskFlag(command *cobra.Command, task *string) {
	command.Flags().StringVar(task, "task", "", "task whose labels are read: detect, obb, pose or segment (default: as the labels look)")
}
