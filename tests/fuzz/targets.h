#ifndef TESTS_FUZZ_TARGETS_H_
#define TESTS_FUZZ_TARGETS_H_

// The parsers that read untrusted bytes, for libFuzzer (fuzzer.cc) and for the corpora of inputs that it found
// (replay_test.cc). A parser may refuse any bytes; what it accepts must be consistent. A violation is a CHECK failure.

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::testing {

struct FuzzTarget {
  absl::string_view name;  // also of its corpus: tests/fuzz/corpus/NAME
  void (*run)(absl::string_view bytes);
};

absl::Span<const FuzzTarget> FuzzTargets();

// Returns null if no target has that name.
const FuzzTarget* FindFuzzTarget(absl::string_view name);

}  // namespace reprise::testing

#endif  // TESTS_FUZZ_TARGETS_H_
