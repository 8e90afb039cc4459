//go:build cuda

package networks

// The generated packages register their kernels with the CUDA back end.
import (
	_ "github.com/reprise-ml/reprise/generated/detect"
	_ "github.com/reprise-ml/reprise/generated/obb"
	_ "github.com/reprise-ml/reprise/generated/optimizer/detect"
	_ "github.com/reprise-ml/reprise/generated/optimizer/obb"
	_ "github.com/reprise-ml/reprise/generated/optimizer/pose"
	_ "github.com/reprise-ml/reprise/generated/optimizer/segment"
	_ "github.com/reprise-ml/reprise/generated/pose"
	_ "github.com/reprise-ml/reprise/generated/segment"
	_ "github.com/reprise-ml/reprise/internal/testscale/detect"
	_ "github.com/reprise-ml/reprise/internal/testscale/obb"
	_ "github.com/reprise-ml/reprise/internal/testscale/optimizer/detect"
	_ "github.com/reprise-ml/reprise/internal/testscale/optimizer/obb"
	_ "github.com/reprise-ml/reprise/internal/testscale/optimizer/pose"
	_ "github.com/reprise-ml/reprise/internal/testscale/optimizer/segment"
	_ "github.com/reprise-ml/reprise/internal/testscale/pose"
	_ "github.com/reprise-ml/reprise/internal/testscale/segment"
)
