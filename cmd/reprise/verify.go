package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/verify"
	"github.com/reprise-ml/reprise/runtime/device"
)

// newVerifyCommand makes the command that compares with reference values.
func newVerifyCommand() *cobra.Command {
	var file, precision, deviceName string
	var capture, asJSON bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Compare a network or its training with reference values",
		Long: `Compare with a file of reference values: either one training pass and one
evaluation pass of a network, or a training trajectory of several steps. The
worst deviation of every kind of number is printed; the exit code is 1 when one
is beyond its tolerance, and the first such number is named.`,
		Example: `  reprise verify -golden internal/verify/testdata/obb-t.json
  reprise verify -golden internal/verify/testdata/trajectory-obb-t.json -precision float32 -capture`,
		Args: run.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("-golden is not set; give a file of reference values")
			}
			p := map[string]device.Precision{"float64": device.Float64, "float32": device.FP32}[precision]
			if p == "" {
				return fmt.Errorf("-precision is %q; use float64 or float32", precision)
			}
			dev, err := run.OpenDevice(deviceName)
			if err != nil {
				return fmt.Errorf("-device: %w", err)
			}
			result, err := verify.Run(dev, verify.Request{File: file, Precision: p, Capture: capture})
			if err = errors.Join(err, dev.Close()); err != nil {
				return fmt.Errorf("-golden: %w", err)
			}
			out := command.OutOrStdout()
			if asJSON {
				encoder := json.NewEncoder(out)
				encoder.SetIndent("", "  ")
				err = encoder.Encode(result)
			} else {
				err = result.WriteText(out)
			}
			if result.Failure != "" {
				return errors.Join(err, fmt.Errorf("%s: %s", file, result.Failure))
			}
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&file, "golden", "", "`FILE` of reference values")
	flags.StringVar(&precision, "precision", "float64", "float64 or float32")
	flags.StringVar(&deviceName, "device", "host", "host or cuda")
	flags.BoolVar(&capture, "capture", false, "trajectories: record the network and the optimizer and replay them")
	flags.BoolVar(&asJSON, "json", false, "write JSON")
	return command
}
