package data

import (
	"fmt"
	"slices"
	"strings"
)

// readCOCOConfig reads the categories of a COCO root, from its smallest usual
// split: all splits must declare the same ones, which Open checks.
func readCOCOConfig(root string, splits map[string]cocoSplit) (*Config, error) {
	config := &Config{File: root, Root: root, coco: splits}
	for _, split := range []string{"val", "test", "train"} {
		paths, ok := splits[split]
		if !ok {
			continue
		}
		categories, err := readCategories(paths.annotations)
		if err != nil {
			return nil, err
		}
		return config, config.useCategories(paths.annotations, categories)
	}
	return config, nil
}

// readCategories are the categories of a file by ascending id.
func readCategories(file string) ([]cocoCategory, error) {
	var categories []cocoCategory
	if err := visitCOCO(file, cocoVisitor{category: func(c cocoCategory, _ int64) { categories = append(categories, c) }}); err != nil {
		return nil, err
	}
	return categories, sortCategories(file, categories)
}

// sortCategories sorts by id and refuses what cannot be a class list.
func sortCategories(file string, categories []cocoCategory) error {
	slices.SortFunc(categories, func(a, b cocoCategory) int { return int(a.ID - b.ID) })
	var faults []Fault
	if len(categories) == 0 {
		faults = append(faults, Fault{File: file, Problem: "no categories", Remedy: "give a COCO annotation file with the list categories"})
	}
	for i, category := range categories {
		if category.Name == "" || i > 0 && category.ID == categories[i-1].ID {
			faults = append(faults, Fault{File: file, Problem: fmt.Sprintf("category %d has no name or is declared twice", category.ID),
				Remedy: "give every category an id and a name of its own"})
		}
	}
	return faultsOrNil(faults)
}

// useCategories fills in names, ids and the keypoint schema.
func (c *Config) useCategories(file string, categories []cocoCategory) error {
	for _, category := range categories {
		c.Names = append(c.Names, category.Name)
		c.categories = append(c.categories, category.ID)
	}
	var first *cocoCategory
	for i, category := range categories {
		if len(category.Keypoints) == 0 {
			continue
		}
		if first != nil && !slices.Equal(first.Keypoints, category.Keypoints) {
			return faultsOrNil([]Fault{{File: file, Problem: fmt.Sprintf("category %s has other keypoints than the categories before", category.Name),
				Remedy: "give all categories the same keypoints, or split the data set"}})
		}
		if first == nil {
			first = &categories[i]
		}
	}
	if first == nil {
		return nil
	}
	skeleton, problem := skeletonOf(*first)
	if problem != "" {
		return faultsOrNil([]Fault{{File: file, Problem: problem, Remedy: "write pairs of keypoints, counted from 1"}})
	}
	order, problem := flipOrderOf(first.Keypoints)
	if problem != "" {
		return faultsOrNil([]Fault{{File: file, Problem: problem, Remedy: "name keypoints left_x and right_x, or x_left and x_right, in pairs"}})
	}
	c.Keypoints = KeypointShape{Count: len(first.Keypoints), Dimensions: 3}
	c.Schema = KeypointSchema{Names: first.Keypoints, FlipOrder: order, Skeleton: skeleton}
	return nil
}

// skeletonOf are the bones of a category by pairs of indices from 0.
func skeletonOf(category cocoCategory) (skeleton [][2]int, problem string) {
	for _, bone := range category.Skeleton {
		count := len(category.Keypoints)
		if len(bone) != 2 || min(bone[0], bone[1]) < 1 || max(bone[0], bone[1]) > count {
			return nil, fmt.Sprintf("category %s has %d keypoints and the bone %v in its skeleton", category.Name, count, bone)
		}
		skeleton = append(skeleton, [2]int{bone[0] - 1, bone[1] - 1})
	}
	return skeleton, ""
}

// flipOrderOf pairs keypoints by their names: a prefix left_ or right_, or a
// suffix _left or _right, in any case, with equal stems. It is nil when no name
// has a side, for then nothing is exchanged in a mirrored image (data and
// evaluation specification, section 2.2).
func flipOrderOf(names []string) (order []int, problem string) {
	type side struct {
		stem string
		left bool
	}
	sides := map[side]int{}
	seen := map[string]bool{}
	order = make([]int, len(names))
	for i, name := range names {
		lower := strings.ToLower(name)
		if seen[lower] {
			return nil, fmt.Sprintf("keypoint %s is named twice", name)
		}
		seen[lower] = true
		order[i] = i
		if stem, left, ok := sideOf(lower); ok {
			if _, taken := sides[side{stem, left}]; taken {
				return nil, fmt.Sprintf("keypoint %s is named twice", name)
			}
			sides[side{stem, left}] = i
		}
	}
	for i, name := range names {
		stem, left, ok := sideOf(strings.ToLower(name))
		if !ok {
			continue
		}
		partner, found := sides[side{stem, !left}]
		if !found {
			return nil, fmt.Sprintf("keypoint %s has no partner on the other side", name)
		}
		order[i] = partner
	}
	if len(sides) == 0 {
		return nil, ""
	}
	return order, ""
}

// sideOf splits a lower-case keypoint name into its stem and its side. Prefix and
// suffix forms pair among themselves only.
func sideOf(name string) (stem string, left, ok bool) {
	if stem, ok = strings.CutPrefix(name, "left_"); ok {
		return "_" + stem, true, true
	}
	if stem, ok = strings.CutPrefix(name, "right_"); ok {
		return "_" + stem, false, true
	}
	if stem, ok = strings.CutSuffix(name, "_left"); ok {
		return stem + "_", true, true
	}
	if stem, ok = strings.CutSuffix(name, "_right"); ok {
		return stem + "_", false, true
	}
	return "", false, false
}
