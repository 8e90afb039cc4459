package main

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/reprise-ml/reprise/internal/cudasim/device"
)

// The section of a kernel source that holds all inline assembly begins with this
// comment and ends with its namespace.
const (
	assemblyBegin = "// Everything that plain C++ cannot say"
	assemblyEnd   = "} // namespace reprise\n"
)

var (
	unrollPragma  = regexp.MustCompile(`(?m)^\s*#pragma unroll.*\n`)
	dynamicShared = regexp.MustCompile(`extern\s+(?:alignas\(\d+\)\s+)?__shared__\s+(?:alignas\(\d+\)\s+)?([\w:<>, ]+?)\s+(\w+)\[\];`)
	constant      = regexp.MustCompile(`\(const __grid_constant__ (\w+) p\)`)
	signature     = regexp.MustCompile(`extern "C" __global__ void __launch_bounds__\((\d+)(?:, \d+)?\) (REPRISE_NAME\(\w+\))\(const __grid_constant__ (\w+) p\)`)
)

// translate turns a kernel source into C++ that the simulator can run, and adds
// the table of its kernels.
func translate(text string) (string, error) {
	before, rest, found := strings.Cut(text, assemblyBegin)
	_, after, ended := strings.Cut(rest, assemblyEnd)
	if !found || !ended {
		return "", errors.New("the section with the inline assembly is not where it was expected; has its first comment changed?")
	}
	kernels := signature.FindAllStringSubmatch(text, -1)
	if len(kernels) != strings.Count(text, "__global__ void") {
		return "", fmt.Errorf("%d of %d kernels have the expected signature", len(kernels), strings.Count(text, "__global__ void"))
	}
	body := before + "#include \"instructions.h\"\n" + after
	body = unrollPragma.ReplaceAllString(body, "") // g++ spells it in another way, and unrolled code compiles four times slower
	body = dynamicShared.ReplaceAllString(body, "$1 *const $2 = static_cast<$1 *>(cudasim_dynamic_shared());")
	body = strings.ReplaceAll(body, "#define __grid_constant__\n", "")
	body = constant.ReplaceAllString(body, "(const $1 &p)") // all threads read one copy
	return body + table(text, kernels), nil
}

// table prints what the simulator looks up in an image.
func table(text string, kernels [][]string) string {
	var b strings.Builder
	b.WriteString("\n#define CUDASIM_TEXT(x) #x\n#define CUDASIM_NAME(x) CUDASIM_TEXT(x)\n")
	b.WriteString("static const cudasim_kernel cudasim_kernels[] = {\n")
	for _, k := range kernels {
		threads, name, argument := k[1], k[2], k[3]
		fmt.Fprintf(&b, "  {CUDASIM_NAME(%s), [](const void *p) { %s(*static_cast<const %s *>(p)); }, sizeof(%s), %s},\n", name, name, argument, argument, threads)
	}
	fmt.Fprintf(&b, "};\nextern \"C\" __attribute__((visibility(\"default\"))) const cudasim_table cudasim_image = {\"%x\", cudasim_kernels, %d, cudasim_dynamic};\n", sha256.Sum256([]byte(text)), len(kernels))
	return b.String()
}

//go:embed main.go translate.go
var program embed.FS

// version names the compiler by what decides its output: this program, its
// headers and g++.
func version() (string, error) {
	sum := sha256.New()
	for _, files := range []embed.FS{program, device.Headers} {
		entries, err := files.ReadDir(".")
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			data, err := files.ReadFile(e.Name())
			if err != nil {
				return "", err
			}
			sum.Write(data)
		}
	}
	out, err := exec.Command("g++", "-dumpfullversion").Output()
	if err != nil {
		return "", fmt.Errorf("g++ is needed to compile kernels for the simulator: %w; install it", err)
	}
	return fmt.Sprintf("kernels for the simulator, version %x, g++ %s", sum.Sum(nil)[:8], strings.TrimSpace(string(out))), nil
}

func writeHeaders(dir string) error {
	entries, err := device.Headers.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := device.Headers.ReadFile(e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
