package data

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// cache keeps decoded images in their native size, so that a fit decodes each
// once. Pixels lie in segment files, which are mapped into memory and written
// whole or not at all; an index says which image is where. An image is known by
// the SHA-256 of its file, so moved and copied files are found again and changed
// ones are not mistaken for the old; files whose size and time of change stayed
// are not read again. Pixels carry a checksum that is tested at their first use.
type cache struct {
	directory, name string

	known    map[string]*cacheEntry // of the index, by path
	contents map[string]*cacheEntry // of the index, by content
	segments map[string]*segment

	guard   sync.Mutex
	entries map[string]*cacheEntry // of this data set, by path
	writer  *segmentWriter         // of images that the index has not

	decoded, repaired atomic.Int64
}

// cacheEntry is one image of the index.
type cacheEntry struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Changed int64  `json:"changed"` // nanoseconds since 1970
	Content string `json:"content"` // SHA-256 of the file
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Segment string `json:"segment"`
	Offset  int64  `json:"offset"`
	Sum     uint32 `json:"sum"` // CRC-32C of the pixels

	state atomic.Int32
	fix   sync.Mutex
}

// States of an entry's pixels.
const (
	pixelsUntested = iota
	pixelsGood
)

func (e *cacheEntry) length() int64 { return 3 * int64(e.Width) * int64(e.Height) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openCache reads what an earlier run left in a directory, made when it is not
// there. Anything that does not fit together there counts as absent.
func openCache(directory, name string) (*cache, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, fmt.Errorf("cache: %w; give a directory that can be written", err)
	}
	c := &cache{
		directory: directory, name: name, entries: map[string]*cacheEntry{}, segments: map[string]*segment{},
		known: map[string]*cacheEntry{}, contents: map[string]*cacheEntry{},
	}
	for _, entry := range readIndex(c.indexFile()) {
		mapped, ok := c.segments[entry.Segment]
		if !ok {
			// A segment that cannot be opened is as good as none.
			mapped, _ = openSegment(filepath.Join(directory, filepath.Base(entry.Segment)))
			c.segments[entry.Segment] = mapped
		}
		if mapped != nil && entry.fits(mapped) {
			c.known[entry.Path], c.contents[entry.Content] = entry, entry
		}
	}
	return c, nil
}

// fits reports whether the entry's pixels lie inside a segment.
func (e *cacheEntry) fits(s *segment) bool {
	return e.Width > 0 && e.Height > 0 && int64(e.Width)*int64(e.Height) <= mostPixels &&
		e.Offset >= 0 && e.Offset <= int64(len(s.pixels))-e.length()
}

// add makes sure that an image is in the cache and gives its size in pixels.
func (c *cache) add(file string) (width, height int, fault *Fault) {
	entry, err := c.find(file)
	if err != nil {
		found := imageFault(file, err)
		return 0, 0, &found
	}
	c.guard.Lock()
	defer c.guard.Unlock()
	c.entries[file] = entry
	return entry.Width, entry.Height, nil
}

func (c *cache) find(file string) (*cacheEntry, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	changed := info.ModTime().UnixNano()
	if old, ok := c.known[path]; ok && old.Bytes == info.Size() && old.Changed == changed {
		return old, nil
	}
	content, err := contentOf(file)
	if err != nil {
		return nil, err
	}
	entry := &cacheEntry{Path: path, Bytes: info.Size(), Changed: changed, Content: content}
	if old, ok := c.contents[content]; ok {
		entry.Width, entry.Height, entry.Segment, entry.Offset, entry.Sum = old.Width, old.Height, old.Segment, old.Offset, old.Sum
		return entry, nil
	}
	return entry, c.decode(file, entry)
}

// decode decodes an image and appends its pixels to the new segment.
func (c *cache) decode(file string, entry *cacheEntry) error {
	decoded, err := decode(file)
	if err != nil {
		return err
	}
	raster := rasterOf(decoded)
	c.decoded.Add(1)
	entry.Width, entry.Height, entry.Sum = raster.Width, raster.Height, crc32.Checksum(raster.Pixels, castagnoli)
	writer, err := c.newSegment()
	if err != nil {
		return err
	}
	entry.Offset, err = writer.append(raster.Pixels)
	return err
}

func (c *cache) newSegment() (*segmentWriter, error) {
	c.guard.Lock()
	defer c.guard.Unlock()
	var err error
	if c.writer == nil {
		c.writer, err = createSegment(c.directory)
	}
	return c.writer, err
}

func contentOf(file string) (string, error) {
	opened, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, opened); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// raster gives an image that was added. Pixels that fail their checksum are
// decoded again from the image and put right on disk.
func (c *cache) raster(file string) (*Raster, error) {
	entry, ok := c.entries[file]
	if !ok {
		return nil, fmt.Errorf("cache: %s was not added; open the data set again", file)
	}
	mapped := c.segments[entry.Segment]
	raster := &Raster{entry.Width, entry.Height, mapped.pixels[entry.Offset : entry.Offset+entry.length()]}
	if entry.state.Load() == pixelsGood {
		return raster, nil
	}
	entry.fix.Lock()
	defer entry.fix.Unlock()
	if entry.state.Load() == pixelsGood || crc32.Checksum(raster.Pixels, castagnoli) == entry.Sum {
		entry.state.Store(pixelsGood)
		return raster, nil
	}
	return c.repair(file, entry, mapped)
}

func (c *cache) repair(file string, entry *cacheEntry, mapped *segment) (*Raster, error) {
	fresh, err := ReadRaster(file)
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(fresh.Pixels, castagnoli) != entry.Sum {
		return nil, faultsOrNil([]Fault{{File: file, Problem: "image changed since the data set was opened", Remedy: "leave the data set alone during a fit"}})
	}
	c.repaired.Add(1)
	if err := mapped.write(fresh.Pixels, entry.Offset); err != nil {
		return nil, err
	}
	entry.state.Store(pixelsGood)
	return fresh, nil
}

// bytes is the size of all segments in use.
func (c *cache) bytes() int64 {
	total := int64(0)
	for _, mapped := range c.segments {
		total += int64(len(mapped.pixels))
	}
	return total
}

func (c *cache) close() error {
	var errs []error
	for _, mapped := range c.segments {
		if mapped != nil {
			errs = append(errs, mapped.close())
		}
	}
	if c.writer != nil {
		errs = append(errs, c.writer.abandon())
	}
	return errors.Join(errs...)
}
