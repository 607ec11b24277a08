#ifndef RL_RECORD_STEP_RECORD_H_
#define RL_RECORD_STEP_RECORD_H_

// The complete record of a step: what an artifact stores of it, and what a reproduction compares. It contains nothing
// that depends on ranks, threads, batches, host or time.

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/digest/sha256.h"
#include "rl/record/episode_record.h"

namespace reprise::rl {

// By name; docs/algorithms.md defines each.
using Metrics = std::vector<std::pair<std::string, double>>;

// Stored in artifacts: do not change the values. Steps of each phase count from 1.
enum class Phase : uint8_t { kWarmUp = 0, kTraining = 1 };

struct TaskRecord {
  int64_t prompt = 0;  // index within the step
  std::string text;    // the prompt
  std::string answer;
  std::vector<int32_t> tokens;  // of the text, as the policy reads it
  // From a problem of a data file. Not stored: the file's digest stands for them.
  bool has_answer = true;
  std::string more = {};  // as data::Task::more

  bool operator==(const TaskRecord&) const = default;
};

// Returns the task of an episode; `task_P` are consecutive prompts, including the episode's.
inline const TaskRecord& TaskOf(absl::Span<const TaskRecord> task_P, const EpisodeRecord& episode) {
  return task_P[static_cast<size_t>(episode.prompt - task_P.front().prompt)];
}

// A reply of the external process in an evaluation of a step.
struct EvaluationReply {
  bool on_start = false;  // in the evaluation before the first training step, not in the one after this step
  bool greedy = false;    // to the problem's greedy completion or episode, not to a sample
  int64_t prompt = 0, sample = 0;
  int64_t turn = 0;  // kScore: the reward for the finished episode, which is reply.reward; NaN: none
  Reply reply = {};
  Digest asked = {};  // SHA-256 of the episode's tokens, as int32, up to the end of the action that it replies to

  static constexpr int64_t kScore = -1;

  // A score that is null, NaN, equals another.
  bool operator==(const EvaluationReply& other) const {
    const auto all_but_reward = [](const EvaluationReply& said) {
      Reply reply = said.reply;
      reply.reward = 0;
      return std::tuple(said.on_start, said.greedy, said.prompt, said.sample, said.turn, reply, said.asked);
    };
    const double a = reply.reward, b = other.reply.reward;
    return (a == b || (std::isnan(a) && std::isnan(b))) && all_but_reward(*this) == all_but_reward(other);
  }
};

struct StepRecord {
  Phase phase = Phase::kTraining;
  int64_t step = 0;
  std::vector<TaskRecord> task_P;
  std::vector<EpisodeRecord> episode_N;                  // by prompt, then sample
  std::vector<int64_t> expert_count_E;                   // rows that chose each expert, over all layers
  Metrics metrics;                                       // under TRL's names; sorted by name
  std::vector<EvaluationReply> evaluation_replies;       // on_start first; greedy first; by prompt, sample
  std::vector<Digest> gradient_digests, weight_digests;  // by tensor; empty where the step was not digested
};

}  // namespace reprise::rl

#endif  // RL_RECORD_STEP_RECORD_H_
