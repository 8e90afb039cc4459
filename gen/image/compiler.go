package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Compiler turns CUDA C into something that the driver loads.
type Compiler struct {
	Name    string // nvcc or clang
	Path    string
	Version string   // one line
	Targets []string // what it compiles for

	flags     []string
	extension string
}

// clangNames are looked for in this order.
var clangNames = []string{"clang++-19", "clang-19", "clang++", "clang"}

// FindCompiler gives the compiler of a name: nvcc, which makes machine code for
// compute capability 8.0 (and with it 8.6 and 8.9) and 9.0 and PTX for later
// ones, or clang, which makes PTX for 8.0 without a CUDA toolkit.
func FindCompiler(ctx context.Context, name string) (*Compiler, error) {
	switch name {
	case "nvcc":
		path, err := exec.LookPath("nvcc")
		if err != nil {
			return nil, errors.New("nvcc is not in the path, and without it a kernel image would stay stale or missing; install the CUDA toolkit 11.8 or later, or use -compiler clang for PTX")
		}
		c := &Compiler{Name: name, Path: path, Targets: []string{"sm_80", "sm_90", "compute_80"}, extension: ".fatbin"}
		c.flags = []string{
			"-fatbin", "-Xfatbin=-compress-all", "-x", "cu", "-std=c++17", "-O3", "-diag-suppress", "177",
			"-gencode", "arch=compute_80,code=[sm_80,compute_80]", "-gencode", "arch=compute_90,code=sm_90",
		}
		return c, c.identify(ctx)
	case "clang":
		for _, candidate := range clangNames {
			path, err := exec.LookPath(candidate)
			if err != nil {
				continue
			}
			c := &Compiler{Name: name, Path: path, Targets: []string{"compute_80"}, extension: ".ptx"}
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

// arguments are the flags for a variant.
func (c *Compiler) arguments(v Variant) []string {
	args := append([]string(nil), c.flags...)
	args = append(args, "-DREPRISE_"+strings.ToUpper(v.Precision))
	if v.Wide {
		args = append(args, "-DREPRISE_WIDE")
	}
	return args
}

// compile compiles a text for a variant. The folder is its own.
func (c *Compiler) compile(ctx context.Context, text []byte, v Variant, dir string) ([]byte, error) {
	in, out := filepath.Join(dir, "kernels.cu"), filepath.Join(dir, "kernels"+c.extension)
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, c.Path, append(c.arguments(v), "kernels.cu", "-o", "kernels"+c.extension)...)
	command.Dir = dir
	var messages bytes.Buffer
	command.Stdout, command.Stderr = &messages, &messages
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", c.Name, err, bytes.TrimSpace(messages.Bytes()))
	}
	return os.ReadFile(out)
}
