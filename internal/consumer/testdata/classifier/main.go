// Command classifier trains the classifier natively and replayed on images that
// it draws, and prints what came out as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

//go:generate go tool reprise gen -out classifier ./definition

func main() {
	results := map[string]result{}
	for name, capture := range map[string]bool{"native": false, "replayed": true} {
		r, err := train(capture)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		results[name] = r
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
