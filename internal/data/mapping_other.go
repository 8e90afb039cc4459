//go:build !unix

package data

import (
	"io"
	"os"
)

// mapFile reads the file where it cannot be mapped.
func mapFile(file *os.File, size int64) ([]uint8, error) {
	pixels := make([]uint8, size)
	_, err := io.ReadFull(io.NewSectionReader(file, 0, size), pixels)
	return pixels, err
}

func unmapFile([]uint8) error { return nil }
