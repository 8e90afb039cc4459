package stage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Exported is one definition after it has run: either its stage or what is
// wrong with it.
type Exported struct {
	Stage    *ir.Stage
	Mistakes Mistakes
}

// exportedJSON is the form of an Exported between two processes; the stage has
// the form of ir.Encode.
type exportedJSON struct {
	Stage    json.RawMessage `json:"stage,omitempty"`
	Mistakes Mistakes        `json:"mistakes,omitempty"`
}

// Export runs definitions and writes the outcome of each, in their order, for
// ReadExport. It is how the generator, which is another program, gets to know
// what the definitions of a package are.
func Export(w io.Writer, definitions ...*Definition) error {
	all := make([]exportedJSON, len(definitions))
	for i, d := range definitions {
		if d == nil {
			all[i].Mistakes = Mistakes{{Op: "define", Problem: "the definition is nil", Remedy: "set the variable with stage.Define where it is declared"}}
			continue
		}
		s, err := d.Build()
		if err != nil {
			if !errors.As(err, &all[i].Mistakes) {
				return fmt.Errorf("stage %s: %w", d.name, err)
			}
			continue
		}
		if all[i].Stage, err = ir.Encode(s); err != nil {
			return fmt.Errorf("stage %s: %w", d.name, err)
		}
	}
	return json.NewEncoder(w).Encode(all)
}

// ReadExport reads what Export wrote.
func ReadExport(r io.Reader) ([]Exported, error) {
	var all []exportedJSON
	if err := json.NewDecoder(r).Decode(&all); err != nil {
		return nil, fmt.Errorf("exported definitions: %w", err)
	}
	out := make([]Exported, len(all))
	for i, one := range all {
		out[i].Mistakes = one.Mistakes
		if one.Stage == nil {
			continue
		}
		s, err := ir.Decode(one.Stage)
		if err != nil {
			return nil, fmt.Errorf("exported definitions: %w", err)
		}
		out[i].Stage = s
	}
	return out, nil
}
