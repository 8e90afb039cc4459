// Package survey looks at data sets for a person: it checks them and counts what
// they hold, draws their labels, and cuts large images into tiles.
package survey
