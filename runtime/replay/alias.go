package replay

import "github.com/reprise-ml/reprise/gen/ir"

// Plan is the plan of a stage as generated packages hand it on.
type Plan = ir.Stage
