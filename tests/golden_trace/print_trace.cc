// print_trace RUN.h5: prints the run's trace on stdout.

#include <cstdio>
#include <string>

#include "tests/golden_trace/trace.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "print_trace RUN.h5\n");
    return 64;
  }
  const absl::StatusOr<std::string> trace = reprise::testing::TraceOfRun(argv[1]);
  if (!trace.ok()) {
    std::fprintf(stderr, "print_trace: %s\n", std::string(trace.status().message()).c_str());
    return 65;
  }
  std::fputs(trace->c_str(), stdout);
  return 0;
}
