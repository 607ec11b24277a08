#ifndef TESTS_TAMPER_COPY_RUN_H_
#define TESTS_TAMPER_COPY_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/tensor/tensor.h"
#include "data/artifact/format/run_header.h"
#include "data/tables/table.h"

namespace reprise::testing {

// A step's number in the artifact and its rows: a table for each stream, in the header's order.
struct StoredStep {
  int64_t number = 0;
  std::vector<StreamTable> tables;
};

struct CheckpointPlace {
  int64_t number = 0;
  std::string group;
};

// The changes that a copy of a run makes. Each may be empty.
struct CopyEdits {
  std::function<void(RunHeader& header)> header = {};
  // May change, add and remove steps; their numbers must be increasing.
  std::function<void(std::vector<StoredStep>& steps)> steps = {};
  // Changes a checkpoint's group of tensors in place; returns false to omit the group.
  std::function<bool(int64_t step, absl::string_view group, std::vector<Tensor>& tensors)> checkpoint = {};
  // An additional checkpoint of one number; none if the group's name is empty.
  CheckpointPlace added = {};
};

// Reads a run and writes it with the edits through RunWriter, so that all digests are valid for the edited contents.
// Without edits the bytes are the same. Errors: those of reading `run_file`.
absl::StatusOr<std::string> CopyRun(absl::string_view run_file, const CopyEdits& edits);

}  // namespace reprise::testing

#endif  // TESTS_TAMPER_COPY_RUN_H_
