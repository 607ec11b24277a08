#ifndef DATA_TASKS_TASK_H_
#define DATA_TASKS_TASK_H_

// Verifiable tasks: a question whose answer can be checked. Task `index` of step `step` is a pure function of (seed,
// purpose, step, index, attempt): nothing is stored, shuffled or exhausted, and any rank can make any task. Text is
// ASCII.
//   addition  "12+7="    -> "19"       two numbers of min_length to max_length digits
//   reverse   "abcde="   -> "edcba"    a word of min_length to max_length letters out of the first alphabet_size
//   sort      "cabed="   -> "abcde"    the same, letters ascending
//   lookup    "ca,bc,ab;2a=" -> "c"    a cycle of alphabet_size letters as pairs of neighbours in any order; the letter
//                                      that is min_length to max_length steps behind another one: a, b, c

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/random/draw.h"

namespace reprise::data {

struct Task {
  std::string prompt;
  std::string answer;
  int64_t line = 0;  // in the task's file, from 1; 0: the task was generated
  bool has_answer = true;
  std::string more = {};  // the other members of that line, as one JSON object; empty if there are none
  // Of a generated task: what it helps to write down before the answer. Of an addition the carries, lowest digit first;
  // of a lookup the letters on the way, or for a single step the one that is asked for; else empty.
  std::string hint = {};

  bool operator==(const Task&) const = default;
};

enum class TaskKind { kAddition, kReverse, kSort, kLookup };

// Returns the names of the kinds, in the order of the enumeration.
std::vector<absl::string_view> TaskNames();
// InvalidArgument, suggesting the nearest name, for an unknown one.
absl::StatusOr<TaskKind> ParseTaskKind(absl::string_view name);

struct TaskOptions {
  TaskKind kind = TaskKind::kReverse;
  int64_t min_length = 1;  // digits of each number, letters of the word, or steps of a lookup
  int64_t max_length = 5;
  int64_t alphabet_size = 8;  // words and lookups: letters a, b, ... ; at most 26
};

inline constexpr int64_t kMaxTaskLength = 4096;

// InvalidArgument, naming the key, its value and its range.
absl::Status ValidateTaskOptions(const TaskOptions& options);

// Returns the canonical form of a problem, which has only what decides the answer: problems that differ in nothing else
// have the same. Of an addition the numbers in ascending order, as a + b is b + a; of a sort the letters in order; of a
// lookup its pairs in order, that is the cycle, with the steps and the letter; of a reverse all of it. A text that is
// no prompt of that kind is its own form. Pure.
std::string CanonicalProblem(TaskKind kind, absl::string_view prompt);

// Returns whether MakeTask can give a problem with this prompt. Options must be valid. Pure.
bool CanBePrompt(const TaskOptions& options, absl::string_view prompt);

// Makes a task. Options must be valid. Each length within the limits is equally likely, and so is each number or word
// of a length. `attempt` is below 2^16; different attempts give different tasks, to replace one that is not wanted.
Task MakeTask(const TaskOptions& options, uint64_t seed, Purpose purpose, uint64_t step, uint64_t index,
              uint64_t attempt = 0);

}  // namespace reprise::data

#endif  // DATA_TASKS_TASK_H_
