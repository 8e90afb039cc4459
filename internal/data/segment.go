package data

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// segmentEnding marks the files of pixels in a cache.
const segmentEnding = ".pixels"

// errCache marks what the cache could not do, which is no fault of an image.
var errCache = errors.New("cache")

// segment is a file of pixels that is mapped into memory, for reading.
type segment struct {
	file   *os.File
	pixels []uint8
}

func openSegment(path string) (*segment, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		s := &segment{file: file}
		if s.pixels, err = mapFile(file, info.Size()); err == nil {
			return s, nil
		}
	}
	_ = file.Close() // the first error is the one to tell
	return nil, err
}

// write puts pixels right in the file, and with it in the mapping.
func (s *segment) write(pixels []uint8, offset int64) error {
	if _, err := s.file.WriteAt(pixels, offset); err != nil {
		return fmt.Errorf("%w: %w; give a directory that can be written", errCache, err)
	}
	return nil
}

func (s *segment) close() error {
	if err := unmapFile(s.pixels); err != nil {
		return err
	}
	return s.file.Close()
}

// segmentWriter writes a new segment beside its final place. Several goroutines
// may append at once.
type segmentWriter struct {
	file  *os.File
	guard sync.Mutex
	end   int64
}

func createSegment(directory string) (*segmentWriter, error) {
	file, err := os.CreateTemp(directory, "building-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w; give a directory that can be written", errCache, err)
	}
	return &segmentWriter{file: file}, nil
}

func (w *segmentWriter) append(pixels []uint8) (offset int64, err error) {
	w.guard.Lock()
	offset = w.end
	w.end += int64(len(pixels))
	w.guard.Unlock()
	if _, err = w.file.WriteAt(pixels, offset); err != nil {
		return 0, fmt.Errorf("%w: %w; make room on the disk or give another directory", errCache, err)
	}
	return offset, nil
}

// seal gives the finished segment a name of its own.
func (w *segmentWriter) seal(directory, name string) (string, error) {
	if err := w.file.Sync(); err != nil {
		return "", fmt.Errorf("%w: %w; make room on the disk or give another directory", errCache, err)
	}
	temporary := w.file.Name()
	if err := w.file.Close(); err != nil {
		return "", fmt.Errorf("%w: %w; make room on the disk or give another directory", errCache, err)
	}
	sealed := name + "." + filepath.Base(temporary)[len("building-"):] + segmentEnding
	if err := os.Rename(temporary, filepath.Join(directory, sealed)); err != nil {
		return "", fmt.Errorf("%w: %w; give a directory that can be written", errCache, err)
	}
	return sealed, nil
}

// abandon removes a segment that was not sealed.
func (w *segmentWriter) abandon() error {
	name := w.file.Name()
	if err := w.file.Close(); err != nil {
		return err
	}
	return os.Remove(name)
}
