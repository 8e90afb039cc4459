// Package overfit holds the test that the project learns: each task at test scale
// is trained on sixteen synthetic scenes until it knows them by heart. It has no
// code of its own.
package overfit
