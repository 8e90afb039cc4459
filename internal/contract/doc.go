// Package contract holds the tests of the recording contract on whole fits of
// all four tasks: with recording on, off, by option and of everything, a fit is
// the same fit. It has no code of its own.
package contract
