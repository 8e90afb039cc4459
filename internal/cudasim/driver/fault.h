// Faults on demand: which calls fail, and with what.
#pragma once

namespace cudasim {

// Makes the k-th call from now (1 for the next) of a name fail with a status.
// The name is that of an entry point without its version, such as cuMemAlloc;
// "*" counts all of them. A plan with k = 0 is none.
void plan_fault(const char *name, long k, int status);

// Whether the planned fault has happened, and calls since the plan was made.
bool fault_happened();
long calls_since_plan();

// Reports what is alive when the program returns from main. It is called when the
// driver is initialised and not by an object of its own: such an object could
// outlive the tables that it looks into.
void watch_exit();

} // namespace cudasim
