package data

import (
	"fmt"
	"strings"
)

// shownFaults is how many faults an error prints before it only counts.
const shownFaults = 10

// Fault is one thing wrong with a data set on disk.
type Fault struct {
	// File is the path at fault, as it was opened.
	File string `json:"file"`
	// Line is the 1-based line of File, 0 when the whole file is at fault.
	Line int `json:"line,omitempty"`
	// Problem says what is wrong, Remedy what to do about it.
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

// String is "file:line: problem; remedy", without the line when it is 0.
func (f Fault) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s; %s", f.File, f.Problem, f.Remedy)
	}
	return fmt.Sprintf("%s:%d: %s; %s", f.File, f.Line, f.Problem, f.Remedy)
}

// FaultsError carries every fault found, in the order of the files and lines.
type FaultsError struct {
	Faults []Fault
	// Skippable is set when images are left without those at fault, see
	// Options.SkipFaulty.
	Skippable bool
}

// Error prints the first ten faults, one a line, and the count of the rest.
func (e *FaultsError) Error() string {
	var text strings.Builder
	for i, fault := range e.Faults {
		if i == shownFaults {
			fmt.Fprintf(&text, "\nand %d more faults", len(e.Faults)-shownFaults)
			break
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(fault.String())
	}
	return text.String()
}

// faultsOrNil is the error for faults, nil when there are none.
func faultsOrNil(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &FaultsError{Faults: faults}
}
