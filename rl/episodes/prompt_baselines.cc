#include "rl/episodes/prompt_baselines.h"

#include <algorithm>

#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/episodes/sources.h"
#include "rl/policy/decoder/decoder_policy.h"

namespace reprise::rl {
namespace {

// Returns the rewards of options.num_generations episodes per task, task by task.
absl::StatusOr<std::vector<double>> RewardsOfEpisodes(const BaselinePlay& play, const std::vector<TaskRecord>& tasks,
                                                      const models::GenerateOptions& options, absl::string_view whose) {
  LiveSource source(DecoderPolicy::ModelOf(play.policy), play.tokenizer, options, play.pool, play.turns);
  absl::StatusOr<Episodes> episodes = source.Draw(Phase::kTraining, static_cast<int64_t>(options.step), tasks);
  if (!episodes.ok()) return WithContext(episodes.status(), whose);
  std::vector<EpisodeRecord>& episode_N = episodes->episode_N;
  RETURN_IF_ERROR(WithContext(ScoreEpisodes(play.tokenizer, play.rewards, tasks, absl::MakeSpan(episode_N)), whose));
  std::vector<double> reward_N;
  for (const EpisodeRecord& episode : episode_N) reward_N.push_back(episode.reward);
  return reward_N;
}

}  // namespace

absl::StatusOr<std::vector<double>> PromptBaselines(const BaselinePlay& play, const std::vector<TaskRecord>& tasks,
                                                    const AdvantageOptions& options,
                                                    const OptimalValueOptions& optimal) {
  models::GenerateOptions generate = play.options;
  generate.drops = false;  // nothing is learned from these episodes
  if (options.baseline == Baseline::kGreedy) {
    generate.num_generations = 1;
    generate.sampling.top_k = 1;
    return RewardsOfEpisodes(play, tasks, generate, "the greedy completions");
  }
  CHECK(options.baseline == Baseline::kOptimal);
  generate.num_generations = optimal.num_samples;
  generate.purpose = Purpose::kValueSampling;
  ASSIGN_OR_RETURN(std::vector<double> reward_N,
                   RewardsOfEpisodes(play, tasks, generate, "the reference's completions"));
  std::vector<double> value_P;
  for (double& reward : reward_N) {
    if (options.reward_clip_range) {  // NaN stays NaN
      reward = std::clamp(reward, options.reward_clip_range->first, options.reward_clip_range->second);
    }
  }
  const size_t samples = static_cast<size_t>(optimal.num_samples);
  for (size_t begin = 0; begin < reward_N.size(); begin += samples) {
    value_P.push_back(OptimalValue(absl::MakeConstSpan(reward_N).subspan(begin, samples), optimal));
  }
  return value_P;
}

}  // namespace reprise::rl
