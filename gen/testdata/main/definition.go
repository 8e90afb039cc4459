// Command main holds a definition, which nobody can import.
package main

import "github.com/reprise-ml/reprise/gen/stage"

// Network cannot be read.
var Network = stage.Define("network", nil)

func main() {}
