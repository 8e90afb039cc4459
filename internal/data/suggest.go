package data

import (
	"os"
	"strings"
)

// suggestFiles is how many label files are looked at for a suggestion.
const suggestFiles = 200

// SuggestTask says which task the labels of a data set look made for: pose where
// keypoints are declared, obb for DOTA and for rows of nine fields throughout,
// segment for other polygons, else detect. It is for looking at a data set; a fit
// has its format declared, for four-cornered polygons and oriented boxes are the
// same rows.
func (c *Config) SuggestTask() string {
	switch {
	case c.Keypoints.Count > 0:
		return "pose"
	case c.dota != nil:
		return "obb"
	case c.coco != nil:
		return "detect"
	}
	boxes, nines, polygons := 0, 0, 0
	looked := 0
	for _, split := range splitNames {
		if !c.Has(split) {
			continue
		}
		images, _ := c.Images(split) // faults are for Open to tell
		for _, image := range images {
			label, err := labelPath(image)
			if err != nil || looked == suggestFiles {
				break
			}
			text, err := os.ReadFile(label)
			if err != nil {
				continue
			}
			looked++
			for _, row := range strings.Split(string(text), "\n") {
				switch fields := len(strings.Fields(row)); {
				case fields == 5:
					boxes++
				case fields == 9:
					nines++
				case polygonRows{}.accepts(fields):
					polygons++
				}
			}
		}
	}
	switch {
	case polygons > 0 && polygons+nines > boxes:
		return "segment"
	case nines > boxes:
		return "obb"
	}
	return "detect"
}
