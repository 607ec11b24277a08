#ifndef RL_WORKLOADS_QUIET_STAR_THOUGHT_RECORD_H_
#define RL_WORKLOADS_QUIET_STAR_THOUGHT_RECORD_H_

// The record of a step of thoughts as tables:
//
//   tasks     one row per prompt    phase step prompt tokens answer_begin
//   episodes  one row per episode   phase step prompt sample logprobs behaviour_logprobs ref_logprobs rewards reward
//                                     advantage
//   thoughts  one row per thought   phase step prompt sample turn position tokens earned advantage
//
// and those that every workload has (rl/record/record_schema.h). data/artifact/FORMAT.md describes the columns.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "rl/config/config.h"
#include "rl/policy/thoughts/thought_episodes.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"
#include "rl/record/step_tables.h"
#include "rl/workloads/quiet_star/thought_texts.h"

namespace reprise::rl {

// What a configuration and its model allow in a record.
struct ThoughtForm {
  Config config;
  int64_t vocabulary = 0;  // with the thinking tokens; 0: not known, and any token may be in it
};

// Returns the form of the records of a run with a vocabulary of this size, thinking tokens included.
RecordSchema ThoughtSchema(const ThoughtForm& form);

// Checks the tables of a step, which may come from an untrusted run: DataLoss, naming stream and row, for texts and
// thoughts that are not of this configuration, numbers out of bounds, and rows that are missing or do not belong
// together. Whether texts are those of their places is compared when the step is executed again.
absl::Status CheckThoughtTables(const ThoughtForm& form, const StepTables& step);

// Returns the tables of tasks, episodes and thoughts, in this order. Contents: those of rl/policy/thoughts.
std::vector<StreamTable> ThoughtTables(const ThoughtTexts& texts, const StepRecord& part);

// Returns the task of a prompt, and the episode with these thoughts. Without thoughts it is one of the SFT phase, which
// learns the text.
TaskRecord ThoughtTask(const ThoughtTexts& texts, Phase phase, int64_t step, int64_t prompt);
EpisodeRecord ThoughtEpisode(const TaskRecord& task, int64_t sample, std::vector<models::Thought> thoughts);
EpisodeRecord TextEpisode(const TaskRecord& task);

// Returns the thoughts of an episode's record (checked).
const std::vector<models::Thought>& GetThoughts(const EpisodeRecord& episode);

// Returns the record of a step from its tables, which CheckThoughtTables must have accepted. The tasks are those of
// their places.
StepRecord ReadThoughtRecord(const ThoughtTexts& texts, const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_THOUGHT_RECORD_H_
