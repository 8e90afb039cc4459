package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/survey"
)

func newDataViewCommand() *cobra.Command {
	var request survey.ViewRequest
	var augmented bool
	command := &cobra.Command{
		Use:   "view",
		Short: "Draw the labels of a data set on its images",
		Long: `Draw the labels of the first images of a split: boxes, rotated boxes, masks,
keypoints and skeletons, one PNG each and a contact sheet of all. With
-augmented the images are those that training sees, mosaics included.`,
		Example: `  reprise data view -data data.yaml -n 16 -out pictures
  reprise data view -data data.yaml -split val -augmented -size 640 -out pictures`,
		Args: run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			switch {
			case request.Path == "":
				return errNoData
			case request.Dir == "":
				return errors.New("-out is not set; give a directory for the pictures")
			case request.Count < 1:
				return fmt.Errorf("-n is %d; give 1 or more", request.Count)
			}
			if augmented {
				pipeline := data.TrainingPipeline(data.Augmentation{
					Size: request.Size, Mosaic: 1, CopyPaste: 0.1, Flip: 0.5, CloseEpoch: math.MaxInt,
					Affine: data.Affine{Scale: 0.5, Translate: 0.1}, HSV: data.DefaultHSV,
				})
				request.Pipeline = &pipeline
			}
			files, err := survey.View(command.Context(), request)
			for _, file := range files {
				fmt.Fprintln(command.OutOrStdout(), file)
			}
			return err
		},
	}
	dataFlags(command, &request.Path)
	taskFlag(command, &request.Task)
	flags := command.Flags()
	flags.StringVar(&request.Split, "split", "train", "train, val or test")
	flags.IntVarP(&request.Count, "n", "n", 16, "images to draw")
	flags.StringVar(&request.Dir, "out", "", "`DIR` for the pictures")
	flags.BoolVar(&augmented, "augmented", false, "draw the images that training sees")
	flags.IntVar(&request.Size, "size", 640, "side of an augmented image in pixels")
	return command
}
