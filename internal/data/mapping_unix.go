//go:build unix

package data

import (
	"os"
	"syscall"
)

// mapFile maps a file into memory for reading. Later writes to the file show.
func mapFile(file *os.File, size int64) ([]uint8, error) {
	if size == 0 {
		return nil, nil
	}
	return syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmapFile(pixels []uint8) error {
	if pixels == nil {
		return nil
	}
	return syscall.Munmap(pixels)
}
