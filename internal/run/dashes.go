package run

// DoubleDashes lets flags be written with one dash, as Go's own commands do:
// -data is --data. No flag has a one-letter form but -h, so nothing else can
// be meant. Numbers stay, and so does what follows "--".
func DoubleDashes(args []string) []string {
	out := make([]string, len(args))
	copy(out, args)
	for i, a := range out {
		if a == "--" {
			break
		}
		if len(a) > 2 && a[0] == '-' && isLetter(a[1]) {
			out[i] = "-" + a
		}
	}
	return out
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
