#ifndef RL_RECORD_COMPLETIONS_COMPLETION_RECORD_H_
#define RL_RECORD_COMPLETIONS_COMPLETION_RECORD_H_

// The content of tasks and episodes in a run of completions, which only that workload and the decoder's policy
// understand. An episode is a text's tokens, then turns of observation and action; a completion of a verifiable task is
// an episode without turns.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/digest/sha256.h"
#include "rl/environment/reply.h"
#include "rl/record/episode_record.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// How the learned tokens of an action were found (rl/environments/grid_navigation/action_mask.h). Stored in artifacts:
// do not change the values.
enum class MaskMethod : uint8_t { kJson, kPattern, kLast, kFailed };

// The check of an action, where actions are checked (rl/episodes/action_checks.h).
struct ActionCheck {
  MaskMethod method = MaskMethod::kFailed;
  bool valid = false;                          // the environment accepts the action
  int64_t learned_begin = 0, learned_end = 0;  // the learned ones of the action's tokens; equal: none

  bool operator==(const ActionCheck&) const = default;
};

// One turn of an episode with an environment.
struct TurnRecord {
  int64_t observation_tokens = 0;  // those of the observation, which precede the action's tokens
  int64_t action_tokens = 0;
  bool complete = false;                  // the action ended by itself, not at a length limit
  std::optional<Reply> reply;             // to the action; none: the episode's length truncated the action
  std::optional<ActionCheck> check = {};  // none: all of the action's tokens are learned

  bool operator==(const TurnRecord&) const = default;
};

// The content of an EpisodeRecord.
struct CompletionEpisode {
  std::vector<int32_t> tokens;     // of the policy; with turns: including the observations between them
  std::vector<TurnRecord> turn_K;  // of an episode with an environment; else empty
  double process_reward = 0;       // of the reward function `process`, before it is copied to rewards_F
};

// The content of a TaskRecord.
struct CompletionTask {
  std::string text;  // the prompt
  std::string answer;
  std::vector<int32_t> tokens = {};  // of the text, as the policy reads it
  // From a problem of a data file. Not stored: the file's digest stands for them.
  bool has_answer = true;
  std::string more = {};  // as data::Task::more

  bool operator==(const CompletionTask&) const = default;
};

// A reply of the external process in an evaluation of a step.
struct EvaluationReply {
  bool on_start = false;  // in the evaluation before the first training step, not in the one after this step
  bool greedy = false;    // to the problem's greedy completion or episode, not to a sample
  int64_t prompt = 0, sample = 0;
  int64_t turn = 0;  // kScore: the reward for the finished episode, which is reply.reward; NaN: none
  Reply reply = {};
  Digest asked = {};  // SHA-256 of the episode's tokens, as int32, up to the end of the action that it replies to

  static constexpr int64_t kScore = -1;
};

// Return the content of a record. A constant record must have one; a mutable record without one receives an empty one.
// A record with the content of another workload is a failed check.
const CompletionEpisode& CompletionOf(const EpisodeRecord& episode);
CompletionEpisode& CompletionOf(EpisodeRecord& episode);
const CompletionTask& CompletionOf(const TaskRecord& task);
CompletionTask& CompletionOf(TaskRecord& task);

// Return the content of a StepRecord: on_start first; greedy first; by prompt, sample. A step without content has none.
const std::vector<EvaluationReply>& GetEvaluationReplies(const StepRecord& step);
std::vector<EvaluationReply>& GetEvaluationReplies(StepRecord& step);

TaskRecord CompletionTaskRecord(int64_t prompt, CompletionTask task);

}  // namespace reprise::rl

#endif  // RL_RECORD_COMPLETIONS_COMPLETION_RECORD_H_
