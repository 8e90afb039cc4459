package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/validate"
)

func newValCommand() *cobra.Command {
	var request validate.Request
	var deviceName string
	var asJSON bool
	command := &cobra.Command{
		Use:   "val",
		Short: "Judge a trained network on a labelled split",
		Long: `Judge a checkpoint on a labelled split, in pixels of the original images and for
both decode paths: end to end and with suppression. Boxes, masks and keypoints
get the figures of COCO, oriented boxes their own. With -out the report, the
precision-recall curves and the confusions are written. Tiles of oriented boxes
are also put together and judged as whole images. Task, class names and input
size are those of the checkpoint.`,
		Example: `  reprise val -weights runs/obb/last.safetensors -data data.yaml
  reprise val -weights runs/obb/last.safetensors -data data.yaml -split test -out validation -json`,
		Args: run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			if request.Path == "" {
				return errNoData
			}
			if request.Weights == "" {
				return errors.New("-weights is not set; give a checkpoint")
			}
			dev, err := run.OpenDevice(deviceName)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, dev.Close()) }()
			report, err := validate.Run(command.Context(), dev, request)
			if err != nil {
				return err
			}
			if asJSON {
				return report.WriteJSON(command.OutOrStdout())
			}
			if err := report.WriteText(command.OutOrStdout()); err != nil || request.Dir == "" {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "\nreport and plots in %s\n", request.Dir)
			return err
		},
	}
	dataFlags(command, &request.Path)
	flags := command.Flags()
	flags.StringVar(&request.Weights, "weights", "", "checkpoint `FILE`")
	flags.StringVar(&request.Split, "split", "val", "train, val or test")
	flags.StringVar(&request.Dir, "out", "", "`DIR` for the report and the plots (default: none are written)")
	flags.BoolVar(&request.Raw, "raw", false, "judge the weights as trained, not their average")
	flags.StringVar(&deviceName, "device", "host", "back end that computes: host or cuda")
	flags.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return command
}
