//go:build cuda

package cuda

import (
	"fmt"
	"strings"
)

// capability is the compute capability of a device, such as 9.0.
type capability struct{ major, minor int }

// target picks the code for a device among the targets of a kernel image:
// machine code of the same major number and the nearest minor number up to its
// own, which is what the driver can run, or else the newest PTX up to its own.
func (c capability) target(targets []string) (string, error) {
	best, rank := "", -1
	for _, t := range targets {
		kind, number, _ := strings.Cut(t, "_")
		var of capability
		if len(number) != 2 {
			continue
		}
		of.major, of.minor = int(number[0]-'0'), int(number[1]-'0')
		r := -1
		switch {
		case kind == "sm" && of.major == c.major && of.minor <= c.minor:
			r = 1000 + of.minor
		case kind == "compute" && (of.major < c.major || of.major == c.major && of.minor <= c.minor):
			r = 10*of.major + of.minor
		}
		if r > rank {
			best, rank = t, r
		}
	}
	switch {
	case best == "" && c.major < 8:
		return "", fmt.Errorf("its compute capability is %d.%d; 8.0 is the least that kernels are written for", c.major, c.minor)
	case best == "":
		return "", fmt.Errorf("it holds no code for compute capability %d.%d; build it with -targets sm_%d%d, or with compute_80", c.major, c.minor, c.major, c.minor)
	}
	return best, nil
}
