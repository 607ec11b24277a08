#ifndef RL_RECORD_COMPLETIONS_RECORD_STREAMS_H_
#define RL_RECORD_COMPLETIONS_RECORD_STREAMS_H_

// The record of completions as tables. data/artifact/FORMAT.md describes the columns.
//
//   tasks     one row per prompt    phase step prompt text answer tokens
//   turns     one row per turn      phase step prompt sample turn observation tokens logprobs ref_logprobs
//                                     terminated [behaviour_logprobs]
//   episodes  one row per episode   phase step prompt sample rewards reward advantage
//   replies   one row per turn      phase step prompt sample turn answered observation reward done truncated
//   actions   one row per turn      phase step prompt sample turn method valid learned_begin learned_end
//   tool_calls  one row per turn    phase step prompt sample turn call
//   evaluation_replies  one row per reply phase step on_start greedy prompt sample turn observation reward done
//                                     truncated tool_call asked
//
// and those of record_schema.h. `replies` exists where there is an environment; only there does an episode have more
// than one turn. `actions` exists where actions are checked, and has only the turns of training. `tool_calls` exists
// where their number is limited. `evaluation_replies` exists where evaluations call an external process.
// `behaviour_logprobs` exists where tokens are not drawn from the policy's whole distribution.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/tables/table.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// What the records of all steps of a run contain: a function of the configuration.
struct RecordForm {
  bool has_turns = false;  // whether there is an environment; otherwise episodes are completions, also in the SFT phase
  bool checks_actions = false;  // whether the actions of training are checked
  bool counts_tool_calls = false;
  bool evaluates_outside = false;  // evaluations call an external process
  bool has_behaviour = false;      // training tokens are drawn from a part of the policy's distribution

  bool operator==(const RecordForm&) const = default;
};

// Returns the form of the records of a run with this configuration. Pure.
RecordForm MakeRecordForm(const Config& config);

// Returns the streams of tasks, episodes and replies.
std::vector<StreamSchema> CompletionStreams(RecordForm form);

// Returns the description of the records of a run of completions: of these streams, and those of the results.
RecordSchema CompletionSchema(RecordForm form);

// Returns the tables of CompletionStreams(form).
std::vector<StreamTable> CompletionTables(const StepRecord& record, RecordForm form);

// Returns all tables of a record.
StepTables ToTables(const StepRecord& record, RecordForm form);

// Returns the record that the tables hold; what they lack of the results is empty. DataLoss, naming stream and row, for
// rows that do not belong together, such as a turn without its episode.
absl::StatusOr<StepRecord> FromTables(const StepTables& step, RecordForm form);

// Returns the texts of the step's prompts.
std::vector<std::string> ListPrompts(const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_RECORD_COMPLETIONS_RECORD_STREAMS_H_
