package run

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoArguments refuses what belongs to no flag, most often the value of a flag
// that can stand without one and takes it behind an equals sign alone.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q belongs to no flag; write the value of a flag as --NAME=VALUE, or remove it", args[0])
	}
	return nil
}

// SuggestFlag turns the error of a flag that a command does not have into one
// that names the nearest flag; dotted keys may be written without their section,
// and the beginning of a name is near to it.
func SuggestFlag(command *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	name, nearest, least := unknown.GetSpecifiedName(), "", 0
	command.Flags().VisitAll(func(f *pflag.Flag) {
		last := f.Name[strings.LastIndexByte(f.Name, '.')+1:]
		d := min(levenshtein.Distance(name, f.Name, nil), 1+levenshtein.Distance(name, last, nil))
		if strings.HasPrefix(f.Name, name) {
			d = 1
		}
		if nearest == "" || d < least {
			nearest, least = f.Name, d
		}
	})
	return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, nearest)
}
