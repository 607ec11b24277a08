#include "rl/episodes/turn_episodes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/config/reward_choice.h"
#include "rl/environments/environments.h"
#include "rl/environments/process/process_environment.h"
#include "rl/episodes/turn_rules.h"
#include "rl/record/completions/record_turns.h"

namespace reprise::rl {

absl::StatusOr<TurnDeps> MakeTurnDeps(const Config& config, Environment* environment, ProcessClient* process,
                                      const std::vector<int32_t>& end_tokens) {
  TurnDeps parts;
  parts.environment = environment;
  parts.is_outside = config.environment.name == kProcess;
  parts.process = process;
  parts.askers = config.execution.process_count;
  ASSIGN_OR_RETURN(const RewardChoice rewards, ParseRewardChoice(config.algorithm.reward));
  const auto place = std::find(rewards.functions.begin(), rewards.functions.end(), kProcessReward);
  if (place != rewards.functions.end()) {
    parts.scorer = process;
    parts.scorer_place = static_cast<size_t>(place - rewards.functions.begin());
  }
  ASSIGN_OR_RETURN(parts.rules, MakeTurnRules(config, end_tokens));
  parts.seed = static_cast<uint64_t>(config.run.seed);
  parts.max_completion_length = config.rollout.max_completion_length;
  return parts;
}

std::vector<Dialogue> MakeDialogues(const TurnDeps& parts, Phase phase, int64_t step,
                                    const std::vector<TaskRecord>& tasks, int64_t generations) {
  std::vector<Dialogue> dialogues;
  for (const TaskRecord& task : tasks) {
    Dialogue dialogue;
    dialogue.place = {.seed = parts.seed,
                      .purpose = phase == Phase::kSft ? Purpose::kSftTask : parts.purpose,
                      .step = static_cast<uint64_t>(step),
                      .prompt = static_cast<uint64_t>(task.prompt)};
    const CompletionTask& asked = CompletionOf(task);
    dialogue.task = {.prompt = asked.text, .answer = asked.answer, .has_answer = asked.has_answer, .more = asked.more};
    dialogue.greedy = parts.greedy;
    for (int64_t sample = 0; sample < generations; ++sample) {
      dialogue.sample = static_cast<uint64_t>(sample);
      dialogues.push_back(dialogue);
    }
  }
  return dialogues;
}

absl::StatusOr<double> ScoreDialogue(const TurnDeps& parts, const models::Tokenizer& tokenizer,
                                     const Dialogue& dialogue, const EpisodeRecord& episode) {
  const CompletionEpisode& completion = CompletionOf(episode);
  absl::Span<const int32_t> action = completion.tokens;
  if (!completion.turn_K.empty()) action = action.last(static_cast<size_t>(completion.turn_K.back().action_tokens));
  return ScoreByProcess(*parts.scorer, dialogue, ActionText(tokenizer, parts.rules, action), episode.terminated);
}

std::vector<TurnRecord> RecordTurns(const models::SampledCompletion& sampled, const Dialogue& dialogue) {
  std::vector<TurnRecord> turns;
  for (size_t k = 0; k < sampled.turn_K.size(); ++k) {
    const models::SampledTurn& turn = sampled.turn_K[k];
    turns.push_back({turn.observation_tokens, turn.action_tokens, turn.complete, std::nullopt});
    if (k < dialogue.replies.size()) turns.back().reply = dialogue.replies[k];
  }
  return turns;
}

Transcript::Transcript(const TurnDeps& parts, const models::Tokenizer& tokenizer, Player& player, int64_t episode)
    : parts_(parts), tokenizer_(tokenizer), player_(player), episode_(episode) {
  record_.prompt = static_cast<int64_t>(dialogue().place.prompt);
  record_.sample = static_cast<int64_t>(dialogue().sample);
}

absl::Status Transcript::Act(absl::Span<const int32_t> action) {
  TurnRecord turn = {.observation_tokens = static_cast<int64_t>(observation_.size()),
                     .action_tokens = static_cast<int64_t>(action.size()),
                     .complete = IsComplete(tokenizer_, parts_.rules, action),
                     .reply = std::nullopt};
  std::vector<int32_t>& tokens = completion_.tokens;
  tokens.insert(tokens.end(), observation_.begin(), observation_.end());
  tokens.insert(tokens.end(), action.begin(), action.end());
  observation_.clear();
  const int64_t size = static_cast<int64_t>(tokens.size());
  is_over_ = !turn.complete && size >= parts_.max_completion_length;
  if (!is_over_) {
    ASSIGN_OR_RETURN(std::optional<std::vector<int32_t>> answer, player_.Answer(episode_, action, turn.complete));
    turn.reply = dialogue().replies.back();
    is_over_ = !answer || !models::HasRoom(size, static_cast<int64_t>(answer->size()), parts_.max_completion_length);
    if (!is_over_) observation_ = *std::move(answer);
  }
  completion_.turn_K.push_back(std::move(turn));
  return absl::OkStatus();
}

bool Transcript::HasRoomFor(size_t action_tokens) const {
  const size_t tokens = completion_.tokens.size() + observation_.size() + action_tokens;
  return static_cast<int64_t>(tokens) <= parts_.max_completion_length;
}

EpisodeRecord Transcript::Take() {
  record_.terminated = EndedByEnvironment(completion_);
  record_.decisions = MakeDecisions(completion_);
  record_.content = std::move(completion_);
  return std::move(record_);
}

absl::StatusOr<EpisodeRecord> Demonstrate(const TurnDeps& parts, const models::Tokenizer& tokenizer, Player& player,
                                          int64_t episode) {
  Transcript transcript(parts, tokenizer, player, episode);
  while (!transcript.is_over()) {
    const std::optional<std::string> demonstrated = parts.environment->Demonstrate(transcript.dialogue());
    if (!demonstrated) break;
    ASSIGN_OR_RETURN(std::vector<int32_t> action, tokenizer.Encode(*demonstrated));
    action.push_back(parts.rules.end_tokens.at(0));
    const bool is_first = transcript.dialogue().actions.empty();
    if (!transcript.HasRoomFor(action.size())) {
      if (!is_first) break;
      return absl::InvalidArgumentError(absl::StrCat(
          "the demonstration for prompt ", transcript.dialogue().place.prompt, " begins with ", action.size(),
          " tokens, more than rollout.max_completion_length ", parts.max_completion_length));
    }
    RETURN_IF_ERROR(transcript.Act(action));
  }
  return transcript.Take();
}

absl::StatusOr<EpisodeRecord> ReplayTurns(const TurnDeps& parts, const models::Tokenizer& tokenizer, Player& player,
                                          int64_t episode, const EpisodeRecord& stored, Phase phase) {
  Transcript transcript(parts, tokenizer, player, episode);
  const CompletionEpisode& completion = CompletionOf(stored);
  int64_t begin = 0;
  for (size_t k = 0; k < completion.turn_K.size(); ++k) {
    if (transcript.is_over()) return absl::DataLossError(absl::StrCat("it continues after turn ", k - 1, ", its last"));
    const TurnRecord& turn = completion.turn_K[k];
    begin += turn.observation_tokens;
    RETURN_IF_ERROR(transcript.Act(absl::MakeConstSpan(completion.tokens)
                                       .subspan(static_cast<size_t>(begin), static_cast<size_t>(turn.action_tokens))));
    begin += turn.action_tokens;
  }
  if (!transcript.is_over() && phase == Phase::kTraining) {
    return absl::DataLossError(
        absl::StrCat("it stops after ", completion.turn_K.size(), " turns, although the episode has not ended"));
  }
  return transcript.Take();
}

}  // namespace reprise::rl
