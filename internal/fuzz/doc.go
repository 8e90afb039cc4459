// Package fuzz holds the fuzz targets that cross packages: random stage graphs
// from the builder to replay, sequences of guards, and the readers of generated
// files. Targets of one reader lie beside it: settings, data sets, labels,
// checkpoints, reference values, kernel images. Seeds are in testdata.
package fuzz
