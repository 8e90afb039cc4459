#include "report.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace cudasim {

namespace {
constexpr size_t most_reports = 200; // a broken kernel would say the same for every element
std::set<std::string> seen;
std::string all;
} // namespace

void report(const std::string &line) {
  if (seen.size() >= most_reports || !seen.insert(line).second)
    return;
  all += line + "\n";
  fprintf(stderr, "cudasim: %s\n", line.c_str());
  if (const char *file = getenv("CUDASIM_REPORTS"))
    if (FILE *f = fopen(file, "a")) {
      fprintf(f, "%s\n", line.c_str());
      fclose(f);
    }
}

const std::string &reports() { return all; }
size_t report_count() { return seen.size(); }

void clear_reports() {
  seen.clear();
  all.clear();
}

std::string text(const char *format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

} // namespace cudasim
