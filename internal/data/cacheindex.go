package data

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// cacheVersion changes when pixels or index mean something else.
const cacheVersion = 1

// cacheIndex is the index file of a cache.
type cacheIndex struct {
	Version int           `json:"version"`
	Images  []*cacheEntry `json:"images"`
}

func (c *cache) indexFile() string { return filepath.Join(c.directory, c.name+".json") }

// readIndex are the entries of an index file; there are none when it is not
// there, damaged or of another version, and the cache is then built anew.
func readIndex(file string) []*cacheEntry {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var index cacheIndex
	if json.Unmarshal(text, &index) != nil || index.Version != cacheVersion {
		return nil
	}
	return slices.DeleteFunc(index.Images, func(e *cacheEntry) bool { return e == nil })
}

// finish makes the images that were added readable: it seals the new segment,
// writes the index and removes segments that no image uses any more.
func (c *cache) finish() error {
	if c.writer != nil {
		name, err := c.writer.seal(c.directory, c.name)
		if err != nil {
			return err
		}
		c.writer = nil
		if c.segments[name], err = openSegment(filepath.Join(c.directory, name)); err != nil {
			return fmt.Errorf("cache: %w; give a directory on a local disk", err)
		}
		for _, entry := range c.entries {
			if entry.Segment == "" {
				entry.Segment = name
			}
		}
	}
	used := map[string]bool{}
	index := cacheIndex{Version: cacheVersion}
	for _, entry := range c.entries {
		used[entry.Segment] = true
		index.Images = append(index.Images, entry)
	}
	slices.SortFunc(index.Images, func(a, b *cacheEntry) int { return cmp.Compare(a.Path, b.Path) })
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(c.indexFile(), text, 0o644); err != nil {
		return fmt.Errorf("cache: %w; give a directory that can be written", err)
	}
	return c.sweep(used)
}

// sweep removes the segments of this cache that are not used.
func (c *cache) sweep(used map[string]bool) error {
	files, err := filepath.Glob(filepath.Join(c.directory, c.name+".*"+segmentEnding))
	if err != nil {
		return err
	}
	for _, file := range files {
		name := filepath.Base(file)
		if used[name] {
			continue
		}
		if mapped := c.segments[name]; mapped != nil {
			if err := mapped.close(); err != nil {
				return err
			}
		}
		delete(c.segments, name)
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("cache: %w; give a directory that can be written", err)
		}
	}
	for name, mapped := range c.segments {
		if mapped == nil {
			delete(c.segments, name)
		}
	}
	return nil
}
