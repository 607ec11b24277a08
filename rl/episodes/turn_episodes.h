#ifndef RL_EPISODES_TURN_EPISODES_H_
#define RL_EPISODES_TURN_EPISODES_H_

// Builds the records of multi-turn episodes: sampled, demonstrated or replayed.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/generation/generate.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environment/player.h"
#include "rl/environments/process/process_client.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

// What episodes are played with. Without an environment they are completions.
struct TurnDeps {
  Environment* environment = nullptr;
  bool is_outside = false;           // the environment is the external process: replays use stored replies
  ProcessClient* scorer = nullptr;   // of the reward function `process`
  size_t scorer_place = 0;           // its index among the reward functions
  ProcessClient* process = nullptr;  // the external process that they call; null: none
  int64_t askers = 0;                // threads that only call the process; 0: those of the pool call it
  TurnRules rules = {};
  uint64_t seed = 0;
  Purpose purpose = Purpose::kTask;  // of the tasks, except in the SFT phase
  bool greedy = false;               // an evaluation plays greedy episodes, not samples
  int64_t max_completion_length = 0;
};

// `environment` and `process` may be null. InvalidArgument as MakeTurnRules.
absl::StatusOr<TurnDeps> MakeTurnDeps(const Config& config, Environment* environment, ProcessClient* process,
                                      const std::vector<int32_t>& end_tokens);

// Returns one empty dialogue per episode of the tasks, prompt by prompt.
std::vector<Dialogue> MakeDialogues(const TurnDeps& parts, Phase phase, int64_t step,
                                    const std::vector<TaskRecord>& tasks, int64_t generations);

// Returns the scorer's reward of a finished episode, the reward `process`; `dialogue` is that of the episode.
absl::StatusOr<double> ScoreDialogue(const TurnDeps& parts, const models::Tokenizer& tokenizer,
                                     const Dialogue& dialogue, const EpisodeRecord& episode);

// Returns the turns of a sampled episode with the environment's replies.
std::vector<TurnRecord> RecordTurns(const models::SampledCompletion& sampled, const Dialogue& dialogue);

// Plays one of the player's episodes with given actions, under the rules of GenerateEpisodes.
class Transcript {
 public:
  Transcript(const TurnDeps& parts, const models::Tokenizer& tokenizer, Player& player, int64_t episode);

  // Appends the next action and the reply to it. Returns the player's errors.
  absl::Status Act(absl::Span<const int32_t> action);
  bool is_over() const { return is_over_; }
  // Returns whether an action of this many tokens would not be truncated.
  bool HasRoomFor(size_t action_tokens) const;

  const Dialogue& dialogue() const { return player_.dialogue(episode_); }
  // Returns the record: its tokens, turns, and what follows from them. An unfinished episode ends with its last action.
  EpisodeRecord Take();

 private:
  const TurnDeps& parts_;
  const models::Tokenizer& tokenizer_;
  Player& player_;
  const int64_t episode_;
  EpisodeRecord record_;
  CompletionEpisode completion_;      // its content
  std::vector<int32_t> observation_;  // of the next turn
  bool is_over_ = false;
};

// Plays a demonstration, up to the maximum length of an episode. InvalidArgument if its first action is already longer.
absl::StatusOr<EpisodeRecord> Demonstrate(const TurnDeps& parts, const models::Tokenizer& tokenizer, Player& player,
                                          int64_t episode);

// Plays the actions of the stored episode; nothing else is taken from it. DataLoss where the stored episode continues
// after its end, or stops before it (which only a demonstration may).
absl::StatusOr<EpisodeRecord> ReplayTurns(const TurnDeps& parts, const models::Tokenizer& tokenizer, Player& player,
                                          int64_t episode, const EpisodeRecord& stored, Phase phase);

}  // namespace reprise::rl

#endif  // RL_EPISODES_TURN_EPISODES_H_
