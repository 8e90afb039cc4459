// Command nvcc stands in for NVIDIA's compiler where kernels shall run on the
// simulated driver: it takes the options that kernel images are built with and
// makes a shared object with g++ in place of PTX and machine code. Put its folder first
// in the path, and reprise image builds images for the simulator.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nvcc of the simulator:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "--version" {
		version, err := version()
		if err == nil {
			fmt.Println(version)
		}
		return err
	}
	in, out, defines, err := parse(args)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	if strings.HasSuffix(in, ".ptx") { // which is a shared object already
		return os.WriteFile(out, text, 0o600)
	}
	translated, err := translate(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return compile(translated, out, defines)
}

// parse finds input, output and definitions among the options; the others are
// about GPUs.
func parse(args []string) (in, out string, defines []string, err error) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-o" && i+1 < len(args):
			i++
			out = args[i]
		case strings.HasPrefix(a, "-D"):
			defines = append(defines, a)
		case strings.HasSuffix(a, ".cu"), strings.HasSuffix(a, ".ptx"):
			in = a
		}
	}
	if in == "" || out == "" {
		return "", "", nil, fmt.Errorf("name a .cu or .ptx file and, with -o, an output")
	}
	return in, out, defines, nil
}

// flags of the C++ compiler. The race detector's instrumentation announces every
// memory access; the simulator defines its functions, so it is not linked. The
// names of shared variables stay those of one image. Kernels compiled with -O2 run
// a thirtieth faster, and compile a third longer.
var flags = []string{
	"-x", "c++", "-std=c++17", "-O1", "-mfma", "-mf16c", "-ffp-contract=off", "-fno-math-errno",
	"-fPIC", "-fvisibility=hidden", "-fno-gnu-unique",
	"-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0",
}

func compile(text, out string, defines []string) error {
	dir, err := os.MkdirTemp("", "cudasim-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeHeaders(dir); err != nil {
		return err
	}
	source, object := filepath.Join(dir, "kernels.cc"), filepath.Join(dir, "kernels.o")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return err
	}
	args := append(append([]string{}, flags...), defines...)
	args = append(args, "-I", dir, "-include", "spelling.h", "-c", source, "-o", object)
	if err := gxx(args...); err != nil {
		return err
	}
	return gxx("-shared", "-o", out, object)
}

func gxx(args ...string) error {
	command := exec.Command("g++", args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}
