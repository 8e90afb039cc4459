package run

import (
	"encoding/json"
	"math"

	"github.com/reprise-ml/reprise/internal/trainer"
)

// Number is a figure of a fit. JSON has null for one that is not finite, such as
// the loss of a step that was skipped, and null is read as not a number.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// Figure is a named figure of validation.
type Figure struct {
	Name  string `json:"name"`
	Value Number `json:"value"`
}

func figuresOf(terms []trainer.Term) []Figure {
	var figures []Figure
	for _, t := range terms {
		figures = append(figures, Figure{t.Name, Number(t.Value)})
	}
	return figures
}
