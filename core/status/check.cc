#include "core/status/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace reprise {
namespace {
std::atomic<int> check_rank{0};
}  // namespace

void SetRankForChecks(int rank) { check_rank.store(rank, std::memory_order_relaxed); }

namespace internal {
void CheckFailed(const char* file, int line, const char* expression, const std::string& values) {
  std::fprintf(stderr, "rank %d: %s:%d: CHECK failed: %s%s%s%s\n", check_rank.load(std::memory_order_relaxed), file,
               line, expression, values.empty() ? "" : " (", values.c_str(), values.empty() ? "" : ")");
  std::fflush(stderr);
  std::abort();
}
}  // namespace internal
}  // namespace reprise
