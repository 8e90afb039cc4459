package stage

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// shownMistakes is how many mistakes a message lists before it only counts.
const shownMistakes = 10

// Mistake is one thing that is wrong in a definition.
type Mistake struct {
	Pos     ir.Pos
	Stage   string
	Op      string
	Problem string
	Remedy  string
}

// String prints file:line: stage NAME: op: what is wrong; what to do.
func (m Mistake) String() string {
	return fmt.Sprintf("%s: stage %s: %s: %s; %s", m.Pos, m.Stage, m.Op, m.Problem, m.Remedy)
}

// Mistakes are all the mistakes of one definition, in the order of its code.
type Mistakes []Mistake

// Error lists the first ten mistakes, one per line, and counts the rest.
func (m Mistakes) Error() string {
	var b strings.Builder
	for i, one := range m {
		if i == shownMistakes {
			fmt.Fprintf(&b, "\nand %d more", len(m)-shownMistakes)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.String())
	}
	return b.String()
}
