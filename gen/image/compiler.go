package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/gen/image/archive"
)

// Compiler turns CUDA C into something that the driver loads.
type Compiler struct {
	Name    string // nvcc or clang
	Path    string
	Version string   // one line
	Targets []string // what it compiles for

	flags        []string // for PTX
	architecture string   // the flag that names the PTX's architecture; empty if flags do
}

// clangNames are looked for in this order.
var clangNames = []string{"clang++-19", "clang-19", "clang++", "clang"}

// ptxTarget is the PTX that an image holds, for devices that it has no machine code
// for.
const ptxTarget = "compute_80"

// assembledFrom gives the PTX that a target is assembled from. There are two:
// kernels depend on the architecture only in whether they begin with a wait.
func assembledFrom(target string) string {
	if archive.Waits(target) {
		return "compute_90"
	}
	return ptxTarget
}

// DefaultTargets are machine code for compute capability 8.0 (and with it 8.6 and
// 8.9) and 9.0, and PTX for later ones.
var DefaultTargets = []string{"sm_80", "sm_90", ptxTarget}

var machine = regexp.MustCompile(`^sm_[89]\d$`)

// FindCompiler gives the compiler of a name: nvcc, which compiles for the given
// targets, or clang, which makes PTX without a CUDA toolkit.
func FindCompiler(ctx context.Context, name string, targets []string) (*Compiler, error) {
	if err := checkTargets(targets); err != nil {
		return nil, err
	}
	switch name {
	case "nvcc":
		path, err := exec.LookPath("nvcc")
		if err != nil {
			return nil, errors.New("nvcc is not in the path, and without it a kernel image would stay stale or missing; install the CUDA toolkit 11.8 or later, or use -compiler clang for PTX")
		}
		c := &Compiler{Name: name, Path: path, Targets: slices.Clone(targets)}
		c.architecture = "-arch"
		c.flags = []string{"-ptx", "-x", "cu", "-std=c++17", "-O3", "-diag-suppress", "177"}
		return c, c.identify(ctx)
	case "clang":
		for _, candidate := range clangNames {
			path, err := exec.LookPath(candidate)
			if err != nil {
				continue
			}
			c := &Compiler{Name: name, Path: path, Targets: []string{ptxTarget}}
			c.flags = []string{
				"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_80", "--cuda-feature=+ptx78",
				"-std=c++17", "-O3", "-Wno-unused-const-variable", "-S",
			}
			return c, c.identify(ctx)
		}
		return nil, fmt.Errorf("none of %s is in the path; install clang 19 or later", strings.Join(clangNames, ", "))
	}
	return nil, fmt.Errorf("compiler is %q; use nvcc or clang", name)
}

func checkTargets(targets []string) error {
	for i, t := range targets {
		if t != ptxTarget && !machine.MatchString(t) {
			return fmt.Errorf("target %q is unknown; use %s, or sm_ and a compute capability from 8.0 to 9.9, such as sm_90", t, ptxTarget)
		}
		if slices.Contains(targets[:i], t) {
			return fmt.Errorf("target %s is named twice; name it once", t)
		}
	}
	if len(targets) == 0 {
		return errors.New("no target was asked for; name some, such as " + strings.Join(DefaultTargets, ","))
	}
	return nil
}

// identify asks for the version.
func (c *Compiler) identify(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, c.Path, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", c.Path, err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "release") || strings.Contains(line, "version") {
			c.Version = strings.TrimSpace(line)
			return nil
		}
	}
	return fmt.Errorf("%s --version: there is no version in what it prints", c.Path)
}

// arguments are the flags for the PTX of a variant.
func (c *Compiler) arguments(v Variant, architecture string) []string {
	args := append([]string(nil), c.flags...)
	if c.architecture != "" {
		args = append(args, c.architecture, architecture)
	}
	args = append(args, "-DREPRISE_"+strings.ToUpper(v.Precision))
	if v.Wide {
		args = append(args, "-DREPRISE_WIDE")
	}
	return args
}

// compile compiles a text for a variant to the PTX that the targets need, and
// assembles that for each of them. The folder is its own.
func (c *Compiler) compile(ctx context.Context, text []byte, v Variant, dir string) ([][]byte, error) {
	const source = "kernels.cu"
	if err := os.WriteFile(filepath.Join(dir, source), text, 0o600); err != nil {
		return nil, err
	}
	var out [][]byte
	made := map[string]string{} // files of PTX by architecture
	for _, target := range c.Targets {
		architecture := assembledFrom(target)
		ptx, known := made[architecture]
		if !known {
			ptx = architecture + ".ptx"
			if err := c.run(ctx, dir, append(c.arguments(v, architecture), source, "-o", ptx)...); err != nil {
				return nil, err
			}
			made[architecture] = ptx
		}
		file := ptx
		if target != ptxTarget {
			file = target + ".cubin"
			if err := c.run(ctx, dir, "-cubin", "-arch", target, ptx, "-o", file); err != nil {
				return nil, err
			}
		}
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}

func (c *Compiler) run(ctx context.Context, dir string, args ...string) error {
	command := exec.CommandContext(ctx, c.Path, args...)
	command.Dir = dir
	if messages, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c.Name, err, bytes.TrimSpace(messages))
	}
	return nil
}
