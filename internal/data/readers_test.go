package data

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/fuzz/allocation"
)

// FuzzParseLabelTxt reads DOTA label files: what is accepted is a valid target.
func FuzzParseLabelTxt(f *testing.F) {
	f.Add("'imagesource':GoogleEarth\ngsd:0.146\n1 1 5 1 5 4 1 4 plane 0\n2.5 3 9 4 8 8 1 7 Ship 1\n")
	f.Add("0 0 0 0 0 0 0 0 plane 0\n")
	f.Add("\xef\xbb\xbf1e300 -1e300 nan inf 0x1p9 4 1 4 ship 2\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		var target Target
		allocation.AtMost(t, allocation.PerByte, len(text), func() {
			target, _ = ParseLabelTxt("a.txt", []byte(text), []string{"plane", "ship"})
		})
		require.NoError(t, target.Validate())
		require.Len(t, target.Difficult, len(target.Labels))
		for _, label := range target.Labels {
			require.Less(t, label, 2)
		}
	})
}

// FuzzReadRaster reads images. Checksums of PNG chunks are put right first:
// without that nearly every change of a byte would be refused for them.
func FuzzReadRaster(f *testing.F) {
	var photograph, graphic bytes.Buffer
	require.NoError(f, jpeg.Encode(&photograph, drawing(9, 7, 1), nil))
	require.NoError(f, png.Encode(&graphic, drawing(5, 6, 2)))
	for _, data := range [][]byte{photograph.Bytes(), graphic.Bytes()} {
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add(claiming(graphic.Bytes(), 16000, 16000))
	file := filepath.Join(f.TempDir(), "image")
	f.Fuzz(func(t *testing.T, data []byte) {
		data = withChecksums(data)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		var raster *Raster
		var err error
		// A pixel of 16 bits a channel has 8 bytes, and 3 in the raster.
		allocation.AtMost(t, 11*pixelsPerByte, len(data), func() { raster, err = ReadRaster(file) })
		if err != nil {
			require.ErrorContains(t, err, file)
			return
		}
		require.Positive(t, min(raster.Width, raster.Height))
		require.Len(t, raster.Pixels, 3*raster.Width*raster.Height)
	})
}

// Places in a PNG file: its signature, then chunks of a length, a kind, data and
// a checksum of kind and data; the first chunk begins with width and height.
const (
	signatureEnd = 8
	widthAt      = signatureEnd + 8
)

// claiming is a PNG file with another size in its header.
func claiming(file []byte, width, height uint32) []byte {
	file = bytes.Clone(file)
	binary.BigEndian.PutUint32(file[widthAt:], width)
	binary.BigEndian.PutUint32(file[widthAt+4:], height)
	return withChecksums(file)
}

// withChecksums is a PNG file whose checksums are right, or other data as it is.
func withChecksums(file []byte) []byte {
	file = bytes.Clone(file)
	if !bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")) {
		return file
	}
	for at := signatureEnd; len(file)-at >= 12; {
		length := int(binary.BigEndian.Uint32(file[at:]))
		if length > len(file)-at-12 {
			break
		}
		end := at + 8 + length
		binary.BigEndian.PutUint32(file[end:], crc32.ChecksumIEEE(file[at+4:end]))
		at = end + 4
	}
	return file
}

// A header that claims more pixels than its file can hold costs no memory.
func TestClaimedSize(t *testing.T) {
	var graphic bytes.Buffer
	require.NoError(t, png.Encode(&graphic, drawing(5, 6, 2)))
	file := filepath.Join(t.TempDir(), "a.png")
	require.NoError(t, os.WriteFile(file, claiming(graphic.Bytes(), 16000, 16000), 0o600))
	allocation.AtMost(t, 0, 0, func() {
		_, err := ReadRaster(file)
		require.ErrorContains(t, err, "image is cut short: its header claims 16000x16000 pixels in ")
	})
}

// FuzzReadCOCO reads annotation files for a task, for training or for evaluation.
// Instances that are accepted are valid and their masks fit.
func FuzzReadCOCO(f *testing.F) {
	tasks := []string{"detect", "obb", "pose", "segment"}
	images := `"images": [{"id": 9, "file_name": "a.png", "width": 8, "height": 6}]`
	categories := `"categories": [{"id": 7, "name": "bird", "keypoints": ["beak", "tail"], "skeleton": [[1, 2]]}]`
	for _, annotation := range []string{
		`{"id": 1, "image_id": 9, "category_id": 7, "bbox": [1, 5, 12, 50], "segmentation": [[1,2,6,4,5,5,2,3]], "keypoints": [1,2,2,3,4,1]}`,
		`{"id": 2, "image_id": 9, "category_id": 7, "bbox": [0, 0, 9, 9], "iscrowd": 1, "segmentation": {"counts": [6, 3, 39], "size": [6, 8]}}`,
		`{"id": 3, "image_id": 9, "category_id": 7, "bbox": [0, 0, 9, 9], "area": 2e9, "segmentation": {"counts": "6:8", "size": [6, 8]}}`,
	} {
		for task := range tasks {
			f.Add([]byte(`{`+images+`, "annotations": [`+annotation+`], `+categories+`}`), uint8(task), annotation[6] != '1')
		}
	}
	f.Add([]byte(`{"annotations": [{"image_id": 1}], "categories": [{"id": 1, "name": "x"}], "images": [{"id": 9e18}, {"id": -9e18}]}`), uint8(0), false)
	// One folder for all inputs: making another takes longer than reading.
	directory := f.TempDir()
	writeImage(f, directory, "val/a.png", 8, 6, 1)
	f.Fuzz(func(t *testing.T, data []byte, task uint8, evaluation bool) {
		file := writeFile(t, directory, "instances_val.json", string(data))
		allocation.AtMost(t, allocation.PerByte, len(data), func() { readCOCOAs(t, file, tasks[int(task)%len(tasks)], evaluation) })
	})
}

// readCOCOAs opens an annotation file for a task and looks at what it holds.
func readCOCOAs(t *testing.T, file, task string, evaluation bool) {
	config, err := ReadConfig(file)
	if err != nil {
		return
	}
	format, err := config.Rows(task)
	if err != nil {
		return
	}
	for split := range config.coco {
		dataset, err := Open(t.Context(), config, split, Options{Format: format, Evaluation: evaluation})
		if err != nil {
			continue
		}
		for _, item := range dataset.Items {
			require.NoError(t, item.Target.Validate())
			for _, annotated := range item.Annotated {
				bitmap, err := annotated.Mask(item.Width, item.Height)
				require.NoError(t, err)
				require.LessOrEqual(t, bitmap.Area(), item.Width*item.Height)
			}
		}
	}
}

// FuzzOpenCache opens caches with any index. What is kept of it can be read.
func FuzzOpenCache(f *testing.F) {
	entry := `{"path":"a.png","bytes":9,"changed":1,"content":"00","width":2,"height":2,"segment":"x.1.pixels","offset":`
	for _, offset := range []string{"0", "12", "9223372036854775807"} {
		f.Add([]byte(`{"version":1,"images":[` + entry + offset + `,"sum":7},null]}`))
	}
	f.Add([]byte(`{"version":1,"images":[{"segment":"../x.json"},{"segment":"","width":1e9,"height":1e9}]}`))
	directory := f.TempDir()
	writeFile(f, directory, "x.1.pixels", "0123456789abcdef")
	f.Fuzz(func(t *testing.T, data []byte) {
		writeFile(t, directory, "x.json", string(data))
		allocation.AtMost(t, allocation.PerByte, len(data), func() {
			c, err := openCache(directory, "x")
			require.NoError(t, err)
			for _, entry := range c.known {
				pixels := c.segments[entry.Segment].pixels[entry.Offset : entry.Offset+entry.length()]
				require.Len(t, pixels, 3*entry.Width*entry.Height)
			}
			require.NoError(t, c.close())
		})
	})
}
