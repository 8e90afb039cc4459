package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/survey"
)

func newDataTileCommand() *cobra.Command {
	request := survey.TileRequest{Tiling: data.DefaultTiling}
	command := &cobra.Command{
		Use:   "tile",
		Short: "Cut large images with oriented labels into overlapping tiles",
		Long: `Cut large images with oriented labels into overlapping tiles and write them as a
COCO data set, whose root -data of the other commands takes. An object of which
a tile shows less than 0.7 is cut to what is visible and flagged difficult.`,
		Example: `  reprise data tile -data dota -out tiles
  reprise data tile -data data.yaml -out tiles -patch 1024 -overlap 512`,
		Args: run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if request.Path == "" {
				return errNoData
			}
			if request.Dir == "" {
				return errors.New("-out is not set; give a new directory for the tiles")
			}
			done, err := survey.Tile(command.Context(), request)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%d images, %d tiles, %d instances, %d of them difficult\n%s\n",
				done.Images, done.Tiles, done.Instances, done.Difficult, request.Dir)
			return err
		},
	}
	dataFlags(command, &request.Path)
	flags := command.Flags()
	flags.StringVar(&request.Dir, "out", "", "new `DIR` for the tiles")
	flags.IntVar(&request.Tiling.Patch, "patch", request.Tiling.Patch, "side of a tile in pixels")
	flags.IntVar(&request.Tiling.Overlap, "overlap", request.Tiling.Overlap, "pixels that neighbours share; 512 to compare with published figures")
	return command
}
