#include "data/tasks/task.h"

#include "absl/strings/str_cat.h"
#include "core/config/unknown_name.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/tasks/addition.h"
#include "data/tasks/task_draw.h"
#include "data/tasks/words.h"

namespace reprise::data {
namespace {

constexpr absl::string_view kNames[] = {"addition", "reverse", "sort"};  // in the order of the enumeration

absl::Status InRange(absl::string_view key, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, "; expected ", low, " to ", high));
}

}  // namespace

std::vector<absl::string_view> TaskNames() { return {std::begin(kNames), std::end(kNames)}; }

absl::StatusOr<TaskKind> ParseTaskKind(absl::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<TaskKind>(i);
  }
  return UnknownName("task", name, kNames);
}

absl::Status ValidateTaskOptions(const TaskOptions& options) {
  RETURN_IF_ERROR(InRange("max_length", options.max_length, 1, kMaxTaskLength));
  RETURN_IF_ERROR(InRange("min_length", options.min_length, 1, options.max_length));
  return InRange("alphabet_size", options.alphabet_size, 1, 26);
}

Task MakeTask(const TaskOptions& options, uint64_t seed, Purpose purpose, uint64_t step, uint64_t index,
              uint64_t attempt) {
  CHECK(ValidateTaskOptions(options).ok());
  const TaskDraw draw = {.seed = seed, .purpose = purpose, .step = step, .index = index, .attempt = attempt};
  const WordRange words = {options.min_length, options.max_length, options.alphabet_size};
  switch (options.kind) {
    case TaskKind::kAddition:
      return MakeAddition(draw, options.min_length, options.max_length);
    case TaskKind::kReverse:
      return MakeReverse(draw, words);
    case TaskKind::kSort:
      break;
  }
  return MakeSort(draw, words);
}

}  // namespace reprise::data
