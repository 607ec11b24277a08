#include "tests/faults/mutants/judge.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_format.h"

namespace reprise::testing {

std::string Tally::text() const {
  return absl::StrFormat("%d mutants: %d rejected, %d harmless, %d wrongly accepted; slowest %.1f ms", mutants, refused,
                         harmless, wrongly_accepted, 1e3 * slowest_seconds);
}

Tally JudgeMutants(const std::string& original, const std::string& other, uint64_t begin, int64_t count,
                   const std::function<Verdict(const std::string& bytes)>& judge) {
  Tally tally;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t number = begin + static_cast<uint64_t>(i);
    const Mutant mutant = MakeMutant(original, other, static_cast<Grain>(number / kCorruptions % 3), number);
    ++tally.mutants;
    ++tally.by_corruption.at(static_cast<size_t>(mutant.damage));
    const auto start = std::chrono::steady_clock::now();
    const Verdict verdict = judge(mutant.bytes);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    tally.slowest_seconds = std::max(tally.slowest_seconds, seconds.count());
    tally.refused += verdict == Verdict::kRejected ? 1 : 0;
    tally.harmless += verdict == Verdict::kHarmless ? 1 : 0;
    tally.wrongly_accepted += verdict == Verdict::kWronglyAccepted ? 1 : 0;
  }
  return tally;
}

}  // namespace reprise::testing
