#ifndef TESTS_FAULTS_MUTANTS_JUDGE_H_
#define TESTS_FAULTS_MUTANTS_JUDGE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/faults/mutants/mutate.h"

namespace reprise::testing {

enum class Verdict { kRejected, kHarmless, kWronglyAccepted };

// Counts of the outcomes of many mutants.
struct Tally {
  int64_t mutants = 0;
  int64_t refused = 0;           // with an error
  int64_t harmless = 0;          // accepted, and all values read from it are correct
  int64_t wrongly_accepted = 0;  // accepted with wrong values
  double slowest_seconds = 0;
  std::array<int64_t, kCorruptions> by_corruption = {};  // mutants

  std::string text() const;
};

// Judges mutants [begin, begin + count) of a file, cycling through the grains.
Tally JudgeMutants(const std::string& original, const std::string& other, uint64_t begin, int64_t count,
                   const std::function<Verdict(const std::string& bytes)>& judge);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_MUTANTS_JUDGE_H_
