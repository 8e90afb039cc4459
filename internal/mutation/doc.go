// Package mutation holds the test that the tests of the recording contract can
// fail: it takes one mechanism away at a time and runs what must notice. It has no
// code of its own.
package mutation
