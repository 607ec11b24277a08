#ifndef TESTS_GOLDEN_TRACE_TRACE_H_
#define TESTS_GOLDEN_TRACE_TRACE_H_

#include <string>

#include "absl/status/statusor.h"

namespace reprise::testing {

// Returns the trace of a run.h5: one line for each step, with floats in hexadecimal, and a last line, whose digest
// covers every byte of its steps:
//
//   sft 1 loss 0x1.2p+2 grad_norm 0x1.4p+0 weights 3f...
//   training 1 reward 0x1p-3 loss -0x1.8p-6 grad_norm 0x1.1p-1 weights 4a...
//
//   run digest 5e...
//
// "weights" is the SHA-256 of the tensors' SHA-256s after the step. Errors: those of opening the file.
absl::StatusOr<std::string> TraceOfRun(const std::string& path);

}  // namespace reprise::testing

#endif  // TESTS_GOLDEN_TRACE_TRACE_H_
