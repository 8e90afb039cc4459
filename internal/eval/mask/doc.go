// Package mask holds instance masks as bitmaps: their rasterisation from rings,
// their areas and their intersection over union.
package mask
