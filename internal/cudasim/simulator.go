//go:build cuda

package cudasim

// #cgo LDFLAGS: -ldl
// #define _GNU_SOURCE
// #include <dlfcn.h>
// #include <stdlib.h>
//
// // The simulator's own entry points. A real driver has none of them, so they
// // are looked up when they are needed.
// static void *find(const char *name) { return dlsym(RTLD_DEFAULT, name); }
// static int present(void) { return find("cudasim_reports") != NULL; }
// static void plan_fault(const char *name, long k, int status) {
//   void (*f)(const char *, long, int);
//   *(void **)&f = find("cudasim_plan_fault");
//   f(name, k, status);
// }
// static long number(const char *function, const char *argument) {
//   long (*f)(const char *);
//   *(void **)&f = find(function);
//   return f(argument);
// }
// static char *text(const char *function) {
//   char *(*f)(void);
//   *(void **)&f = find(function);
//   return f();
// }
// static void call(const char *function) {
//   void (*f)(void);
//   *(void **)&f = find(function);
//   f();
// }
import "C"

import "unsafe"

// Present tells whether the program runs on the simulated driver.
func Present() bool { return C.present() != 0 }

// Status is what a driver call returns.
type Status int

// Fault makes one driver call fail.
type Fault struct {
	Call   string // an entry point without its version, such as cuMemAlloc; "*" counts all
	K      int    // which of its calls from now on, from 1
	Status Status
}

// Plan makes a fault happen in place of the one planned before. The zero Fault
// is none.
func Plan(f Fault) {
	name := C.CString(f.Call)
	defer C.free(unsafe.Pointer(name))
	C.plan_fault(name, C.long(f.K), C.int(f.Status))
}

// Happened tells whether the planned fault has happened.
func Happened() bool { return number("cudasim_fault_happened", "") != 0 }

// CallsSincePlan is the number of driver calls since the last Plan.
func CallsSincePlan() int { return number("cudasim_calls_since_plan", "") }

// Calls is the number of calls of an entry point since the program began.
func Calls(name string) int { return number("cudasim_calls", name) }

// MemoryUsed is the device memory that is allocated, in bytes and whole pages.
func MemoryUsed() int { return number("cudasim_memory_used", "") }

// Reports are the faults that the simulator found, one a line.
func Reports() string { return text("cudasim_reports") }

// ClearReports forgets the reports.
func ClearReports() {
	name := C.CString("cudasim_clear_reports")
	defer C.free(unsafe.Pointer(name))
	C.call(name)
}

// Alive lists what all contexts hold; empty when there is no context.
func Alive() string { return text("cudasim_alive") }

func number(function, argument string) int {
	f, a := C.CString(function), C.CString(argument)
	defer C.free(unsafe.Pointer(f))
	defer C.free(unsafe.Pointer(a))
	return int(C.number(f, a))
}

func text(function string) string {
	f := C.CString(function)
	defer C.free(unsafe.Pointer(f))
	out := C.text(f)
	defer C.free(unsafe.Pointer(out))
	return C.GoString(out)
}
