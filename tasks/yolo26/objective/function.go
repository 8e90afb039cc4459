package objective

import (
	"fmt"
	"reflect"
)

// Function is a function field of an objective that a user may replace, with
// the functions that count as its default.
type Function struct {
	Name     string
	Function any
	Defaults []any
}

// CheckFunctions reports the first function field that is nil.
func CheckFunctions(fields []Function) error {
	for _, field := range fields {
		if reflect.ValueOf(field.Function).IsNil() {
			return fmt.Errorf("%s is nil; make the objective with New, and give a function that returns 0 to leave a term out", field.Name)
		}
	}
	return nil
}

// ReplacedFunction tells by identity whether a function field is not a default
// one, and names the first that is not. A function that was put back counts as
// default again.
func ReplacedFunction(fields []Function) (name string, replaced bool) {
	for _, field := range fields {
		if !isOneOf(field.Function, field.Defaults) {
			return field.Name, true
		}
	}
	return "", false
}

// isOneOf compares functions by their code. The defaults are plain functions
// without captured variables, so equal code is the same function, and a wrapper
// around one has code of its own.
func isOneOf(function any, defaults []any) bool {
	pointer := reflect.ValueOf(function).Pointer()
	for _, candidate := range defaults {
		if pointer == reflect.ValueOf(candidate).Pointer() {
			return true
		}
	}
	return false
}
