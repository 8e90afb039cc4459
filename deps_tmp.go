//go:build tools

package tools

import (
	_ "github.com/agext/levenshtein"
	_ "github.com/aymanbagabas/go-udiff"
	_ "github.com/dave/jennifer/jen"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/renameio/v2"
	_ "github.com/nlpodyssey/safetensors"
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/pflag"
	_ "github.com/stretchr/testify/require"
	_ "golang.org/x/image/font/basicfont"
	_ "golang.org/x/image/font/opentype"
	_ "golang.org/x/image/font/gofont/goregular"
	_ "golang.org/x/image/vector"
	_ "golang.org/x/image/draw"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/blas/blas32"
	_ "gonum.org/v1/gonum/blas/gonum"
	_ "gonum.org/v1/plot/vg/vgimg"
	_ "gonum.org/v1/plot/plotter"
)
