#include "rl/learner/sources.h"

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::rl {

absl::StatusOr<Episodes> LiveSource::Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) {
  if (phase == Phase::kWarmUp) return Answers(tasks);
  std::vector<Prompt> prompts;
  for (const TaskRecord& task : tasks) prompts.push_back({task.tokens, static_cast<uint64_t>(task.prompt)});
  options_.step = static_cast<uint64_t>(step);
  GenerateResult sampled = Generate(model_.decoder(), prompts, options_, pool_);
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

ReplaySource::ReplaySource(const std::vector<StepRecord>& records) {
  for (const StepRecord& record : records) steps_[{record.phase, record.step}] = &record;
}

absl::StatusOr<Episodes> ReplaySource::Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) {
  const auto found = steps_.find({phase, step});
  if (found == steps_.end()) return absl::DataLossError(absl::StrCat("the run holds no step ", step));
  const std::vector<EpisodeRecord>& stored = found->second->episode_N;
  const size_t prompts = found->second->task_P.size();
  if (prompts == 0 || stored.size() % prompts != 0) {
    return absl::DataLossError(absl::StrCat("step ", step, ": ", stored.size(), " episodes for ", prompts, " tasks"));
  }
  const size_t generations = stored.size() / prompts;
  Episodes episodes;
  for (const TaskRecord& task : tasks) {
    for (size_t g = 0; g < generations; ++g) {
      const size_t at = static_cast<size_t>(task.prompt) * generations + g;
      if (at >= stored.size()) {
        return absl::DataLossError(absl::StrCat("step ", step, ": no episode of prompt ", task.prompt));
      }
      EpisodeRecord episode;
      episode.prompt = stored[at].prompt;
      episode.sample = stored[at].sample;
      episode.terminated = stored[at].terminated;
      episode.tokens = stored[at].tokens;
      episodes.episode_N.push_back(std::move(episode));
    }
  }
  return episodes;
}

}  // namespace reprise::rl
