// Package run turns settings and a data file into a fit and its summary. It is
// what the train command and the trainers of users' own modules share.
package run
