package replay

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// LoadPlan reads the plan that a generated package embeds and checks that it is
// the one that the package was generated with: digest is the constant in the
// generated Go, which must equal both the digest in the plan and the digest of
// its content.
func LoadPlan(data []byte, digest string) (*ir.Stage, error) {
	plan, err := ir.Decode(data)
	if err != nil {
		return nil, err
	}
	computed, err := ir.Digest(plan)
	if err != nil {
		return nil, fmt.Errorf("plan of stage %s: %w", plan.Name, err)
	}
	if plan.Digest != computed {
		return nil, fmt.Errorf("plan of stage %s: its content has digest %.12s, its header says %.12s; run go generate again", plan.Name, computed, plan.Digest)
	}
	if digest != computed {
		return nil, fmt.Errorf("plan of stage %s: it has digest %.12s, the generated Go expects %.12s; run go generate again", plan.Name, computed, digest)
	}
	return plan, nil
}
