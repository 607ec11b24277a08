#include "rl/learner/sources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::rl {

absl::StatusOr<Episodes> LiveSource::Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) {
  if (phase == Phase::kWarmUp) return Answers(tasks);
  std::vector<Prompt> prompts;
  for (const TaskRecord& task : tasks) prompts.push_back({task.tokens, static_cast<uint64_t>(task.prompt)});
  options_.step = static_cast<uint64_t>(step);
  GenerateResult sampled = Generate(model_.decoder(), prompts, options_, pool_, &memory_);
  refills_ += sampled.refills;
  Episodes episodes;
  for (size_t i = 0; i < sampled.completions.size(); ++i) {
    SampledCompletion& completion = sampled.completions[i];
    EpisodeRecord episode;
    episode.prompt = tasks[i / static_cast<size_t>(options_.num_generations)].prompt;
    episode.sample = static_cast<int64_t>(i) % options_.num_generations;
    episode.terminated = completion.terminated;
    episode.tokens = std::move(completion.tokens);
    episode.logprobs = std::move(completion.logprobs);
    episodes.episode_N.push_back(std::move(episode));
  }
  episodes.expert_count_E = std::move(sampled.expert_count_E);
  return episodes;
}

absl::StatusOr<Episodes> LiveSource::Answers(const std::vector<TaskRecord>& tasks) const {
  Episodes episodes;
  for (const TaskRecord& task : tasks) {
    EpisodeRecord episode;
    episode.prompt = task.prompt;
    episode.terminated = true;
    ASSIGN_OR_RETURN(episode.tokens, tokenizer_.Encode(task.answer));
    episode.tokens.push_back(model_.config().eos_token_id.at(0));
    episodes.episode_N.push_back(std::move(episode));
  }
  return episodes;
}

ReplaySource::ReplaySource(const std::vector<StepRecord>& records, const models::DecoderConfig& decoder,
                           int64_t num_generations)
    : decoder_(decoder), num_generations_(num_generations) {
  for (const StepRecord& record : records) steps_[{record.phase, record.step}] = &record;
}

absl::StatusOr<Episodes> ReplaySource::Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) {
  const auto found = steps_.find({phase, step});
  if (found == steps_.end()) return absl::DataLossError(absl::StrCat("the run holds no step ", step));
  const int64_t generations = phase == Phase::kWarmUp ? 1 : num_generations_;
  Episodes episodes;
  for (const TaskRecord& task : tasks) {
    for (int64_t sample = 0; sample < generations; ++sample) {
      absl::StatusOr<EpisodeRecord> episode = Replay(found->second->episode_N, task, sample, generations);
      if (!episode.ok()) {
        return WithContext(episode.status(),
                           absl::StrCat("the run's step ", step, ", prompt ", task.prompt, " sample ", sample));
      }
      episodes.episode_N.push_back(*std::move(episode));
    }
  }
  return episodes;
}

absl::StatusOr<EpisodeRecord> ReplaySource::Replay(const std::vector<EpisodeRecord>& stored, const TaskRecord& task,
                                                   int64_t sample, int64_t generations) const {
  const size_t at = static_cast<size_t>(task.prompt * generations + sample);
  if (at >= stored.size()) return absl::DataLossError("it is missing");
  if (stored[at].prompt != task.prompt || stored[at].sample != sample) {
    return absl::DataLossError(
        absl::StrCat("in its place is prompt ", stored[at].prompt, " sample ", stored[at].sample));
  }
  EpisodeRecord episode;
  episode.prompt = task.prompt;
  episode.sample = sample;
  episode.tokens = stored[at].tokens;
  const int64_t positions = static_cast<int64_t>(task.tokens.size() + episode.tokens.size());
  if (episode.tokens.empty() || positions > decoder_.max_position_embeddings) {
    return absl::DataLossError(absl::StrCat("it has ", episode.tokens.size(), " tokens"));
  }
  for (int32_t token : episode.tokens) {
    if (token < 0 || token >= decoder_.vocab_size) {
      return absl::DataLossError(absl::StrCat("token ", token, " is none of the ", decoder_.vocab_size));
    }
  }
  const auto& ends = decoder_.eos_token_id;
  episode.terminated = std::find(ends.begin(), ends.end(), episode.tokens.back()) != ends.end();
  return episode;
}

}  // namespace reprise::rl
