// What the simulator found. A report names the kernel or the call at fault; it
// is kept for cudasim_reports, and written to standard error at once.
#pragma once

#include <string>

namespace cudasim {

// Adds a report. The same text is kept once.
void report(const std::string &text);

// All reports, one a line, and how many there are.
const std::string &reports();
size_t report_count();
void clear_reports();

// printf into a string.
std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace cudasim
