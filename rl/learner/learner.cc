#include "rl/learner/learner.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "models/decoder/load_balancing.h"
#include "rl/learner/choices.h"
#include "rl/learner/step_gather.h"
#include "rl/learner/task_batch.h"
#include "rl/learner/wire.h"
#include "rl/schedule/learning_rate.h"

namespace reprise::rl {

struct Learner::Step {
  Phase phase = Phase::kTraining;
  int64_t step = 0;
  int64_t prompts = 0, generations = 1;  // of the whole step
  int64_t first_prompt = 0;              // of this rank
  StepShare share;
  std::vector<int64_t> expert_count_E;  // of the whole step, once counted
  int64_t rows = 0;                     // through the decoder, of the whole step
  LossNormalizer normalizer;
  double learning_rate = 0, grad_norm = 0, aux_loss = 0;
};

// ---- The algorithm
// ---------------------------------------------------------------------------------------------------

absl::Status Learner::Run(int64_t stop_after_step) {
  for (int64_t step = 1; step <= parts_.config.warm_up.steps; ++step) {
    ASSIGN_OR_RETURN(const bool go_on, WarmUpStep(step));
    if (!go_on) return absl::OkStatus();
  }
  updater_.Reset();
  num_tokens_ = 0;
  for (int64_t step = 1; step <= parts_.config.run.steps; ++step) {
    ASSIGN_OR_RETURN(const bool go_on, TrainStep(step));
    if (!go_on || step == stop_after_step) return absl::OkStatus();
  }
  return absl::OkStatus();
}

// Supervised learning of the answers.
absl::StatusOr<bool> Learner::WarmUpStep(int64_t number) {
  ASSIGN_OR_RETURN(Step step, StartStep(Phase::kWarmUp, number, parts_.config.warm_up.prompts_per_step, 1));
  RETURN_IF_ERROR(CountStep(&step));
  RETURN_IF_ERROR(UpdatePolicy(&step, parts_.config.warm_up.learning_rate, 0));
  return FinishStep(&step);
}

// Group-relative policy optimisation (Shao et al., arXiv 2402.03300, algorithm 1, with one reward per completion).
absl::StatusOr<bool> Learner::TrainStep(int64_t number) {
  const RolloutConfig& rollout = parts_.config.rollout;
  ASSIGN_OR_RETURN(Step step, StartStep(Phase::kTraining, number, rollout.prompts_per_step, rollout.num_generations));
  RETURN_IF_ERROR(AgreeOk(parts_.comm, ScoreEpisodes(&step)));
  RETURN_IF_ERROR(AssignAdvantages(&step));
  RETURN_IF_ERROR(CountStep(&step));
  const double learning_rate = LearningRate(choices_.schedule, number - 1);
  for (int64_t iteration = 0; iteration < parts_.config.algorithm.num_iterations; ++iteration) {
    RETURN_IF_ERROR(UpdatePolicy(&step, learning_rate, iteration));
  }
  return FinishStep(&step);
}

// ---- Its parts
// -------------------------------------------------------------------------------------------------------

Learner::Learner(const LearnerParts& parts, const ShardMap& shards, const Choices& choices, RewardFunction reward)
    : parts_(parts),
      shards_(shards),
      choices_(choices),
      reward_(reward),
      auxiliary_coefficient_(parts.model.config().router_aux_loss_coef),
      updater_(parts.model, shards_, choices.adamw, parts.config.execution.micro_batch_tokens, parts.comm, parts.pool) {
}

absl::StatusOr<std::unique_ptr<Learner>> Learner::Create(const LearnerParts& parts) {
  ASSIGN_OR_RETURN(const ShardMap shards,
                   ShardMap::Create(static_cast<int>(parts.config.run.logical_shards), parts.comm.size()));
  ASSIGN_OR_RETURN(const Choices choices, ChoicesOf(parts.config));
  ASSIGN_OR_RETURN(const RewardFunction reward, FindReward(parts.config.algorithm.reward));
  return std::unique_ptr<Learner>(new Learner(parts, shards, choices, reward));
}

// This rank's tasks and their episodes.
absl::StatusOr<Learner::Step> Learner::StartStep(Phase phase, int64_t number, int64_t prompts, int64_t generations) {
  Step step;
  step.phase = phase;
  step.step = number;
  step.prompts = prompts;
  step.generations = generations;
  const ShardRange range = shards_.ShardsOf(parts_.comm.rank());
  step.first_prompt = FirstPromptOfShard(prompts, shards_.shards(), range.begin);
  const int64_t end = FirstPromptOfShard(prompts, shards_.shards(), range.end);
  absl::StatusOr<std::vector<TaskRecord>> tasks =
      DrawTasks(parts_.config, parts_.tokenizer, parts_.model.config().max_position_embeddings, phase, number,
                step.first_prompt, end);
  ASSIGN_OR_RETURN(step.share.task_P, AgreeOk(parts_.comm, std::move(tasks)));
  ASSIGN_OR_RETURN(Episodes episodes, AgreeOk(parts_.comm, parts_.source.Draw(phase, number, step.share.task_P)));
  step.share.episode_N = std::move(episodes.episode_N);
  step.expert_count_E = std::move(episodes.expert_count_E);
  step.share.outcome_N.resize(step.share.episode_N.size());
  return step;
}

absl::Status Learner::ScoreEpisodes(Step* step) {
  for (EpisodeRecord& episode : step->share.episode_N) {
    const TaskRecord& task = step->share.task_P[static_cast<size_t>(episode.prompt - step->first_prompt)];
    std::vector<int32_t> tokens = episode.tokens;
    if (episode.terminated) tokens.pop_back();
    const std::string text = parts_.tokenizer.Decode(tokens);
    episode.reward = reward_({task.text, task.answer, text, episode.terminated});
    if (!std::isfinite(episode.reward)) {
      return absl::InternalError(absl::StrCat("step ", step->step, ": the reward ", parts_.config.algorithm.reward,
                                              " of prompt ", episode.prompt, " sample ", episode.sample,
                                              " is not finite; no weight was changed"));
    }
    episode.rewards_F = {episode.reward};
  }
  return absl::OkStatus();
}

// Every rank computes the advantages of all completions from all rewards, and keeps its own.
absl::Status Learner::AssignAdvantages(Step* step) {
  WireWriter mine;
  for (const EpisodeRecord& episode : step->share.episode_N) {
    for (double reward : episode.rewards_F) mine.Put(reward);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(parts_.comm, mine.bytes()));
  std::vector<double> rewards_NF;
  for (const std::string& bytes : all) {
    for (WireReader reader(bytes); !reader.done();) rewards_NF.push_back(reader.Get<double>());
  }
  const std::vector<double> weights_F = {1.0};
  const std::vector<double> advantages = Advantages({rewards_NF, weights_F, step->generations}, choices_.advantage, {});
  const size_t first = static_cast<size_t>(step->first_prompt * step->generations);
  for (size_t i = 0; i < step->share.episode_N.size(); ++i) {
    step->share.episode_N[i].advantage = advantages[first + i];
  }
  return absl::OkStatus();
}

// Sums over the whole step that every rank needs: tokens, rows and the experts' shares of them. Integers, so that their
// order does not matter.
absl::Status Learner::CountStep(Step* step) {
  const bool counted = !step->expert_count_E.empty() || auxiliary_coefficient_ == 0.0 || step->share.task_P.empty();
  if (!counted) step->expert_count_E = updater_.CountExperts(ShardInputs(step, 0));
  step->expert_count_E.resize(static_cast<size_t>(parts_.model.config().num_experts));
  std::vector<int64_t> sums = {0, 0, 0};  // completions' tokens, rows, prompts' and completions' tokens
  for (const EpisodeRecord& episode : step->share.episode_N) {
    const TaskRecord& task = step->share.task_P[static_cast<size_t>(episode.prompt - step->first_prompt)];
    const int64_t tokens = static_cast<int64_t>(episode.tokens.size());
    sums[0] += tokens;
    sums[1] += tokens - 1;
    sums[2] += tokens + static_cast<int64_t>(task.tokens.size());
  }
  for (const TaskRecord& task : step->share.task_P) sums[1] += static_cast<int64_t>(task.tokens.size());
  sums.insert(sums.end(), step->expert_count_E.begin(), step->expert_count_E.end());
  RETURN_IF_ERROR(AllreduceSum(parts_.comm, absl::MakeSpan(sums)));
  step->normalizer.num_sequences = static_cast<double>(step->prompts * step->generations);
  step->normalizer.num_tokens = step->normalizer.mean_num_tokens = static_cast<double>(sums[0]);
  step->rows = sums[1];
  num_tokens_ += sums[2];
  step->expert_count_E.assign(sums.begin() + 3, sums.end());
  return absl::OkStatus();
}

std::vector<ShardInput> Learner::ShardInputs(Step* step, int64_t iteration) {
  const ShardRange range = shards_.ShardsOf(parts_.comm.rank());
  std::vector<ShardInput> inputs;
  for (int shard = range.begin; shard < range.end; ++shard) {
    const int64_t begin = FirstPromptOfShard(step->prompts, shards_.shards(), shard) - step->first_prompt;
    const int64_t end = FirstPromptOfShard(step->prompts, shards_.shards(), shard + 1) - step->first_prompt;
    ShardInput input;
    for (int64_t p = begin; p < end; ++p) {
      TrainingGroup group = {step->share.task_P[static_cast<size_t>(p)].tokens, {}};
      for (int64_t g = 0; g < step->generations; ++g) {
        group.completion_G.push_back(step->share.episode_N[static_cast<size_t>(p * step->generations + g)].tokens);
      }
      input.groups.push_back(std::move(group));
    }
    input.loss = [this, step, begin, iteration](int64_t group, int64_t completion, absl::Span<const float> logprob_T,
                                                absl::Span<const float> entropy_T, absl::Span<float> dlogprob_T) {
      const size_t at = static_cast<size_t>((begin + group) * step->generations + completion);
      EpisodeRecord* const episode = &step->share.episode_N[at];
      step->share.outcome_N[at] = step->phase == Phase::kWarmUp
                                      ? SupervisedLoss(static_cast<int64_t>(step->normalizer.num_tokens), logprob_T,
                                                       entropy_T, episode, dlogprob_T)
                                      : ReinforcementLoss(choices_.loss, step->normalizer, iteration == 0, logprob_T,
                                                          entropy_T, episode, dlogprob_T);
    };
    inputs.push_back(std::move(input));
  }
  return inputs;
}

absl::Status Learner::UpdatePolicy(Step* step, double learning_rate, int64_t iteration) {
  const models::DecoderConfig& config = parts_.model.config();
  // Answers are learned as they are; completions at the temperature that they were sampled with.
  const double temperature = step->phase == Phase::kWarmUp ? 1.0 : parts_.config.rollout.temperature;
  ASSIGN_OR_RETURN(const GradientResult gradient,
                   updater_.Gradient(ShardInputs(step, iteration), static_cast<float>(temperature),
                                     models::LoadBalancingGradient(config, auxiliary_coefficient_, step->expert_count_E,
                                                                   step->rows)));
  if (iteration == 0) step->share.first_outcome_N = step->share.outcome_N;
  step->grad_norm = gradient.norm;
  step->learning_rate = learning_rate;
  step->aux_loss =
      models::LoadBalancingLoss(config, step->expert_count_E, gradient.counts.probability_sum_E, step->rows);
  counts_.prompt_rows += gradient.counts.prompt_rows;
  counts_.completion_rows += gradient.counts.completion_rows;
  counts_.micro_batches += gradient.counts.micro_batches;
  counts_.cut_groups += gradient.counts.cut_groups;
  return updater_.Apply(gradient.norm, learning_rate);
}

// Digests, gathers and hands over what the step was.
absl::StatusOr<bool> Learner::FinishStep(Step* step) {
  const int64_t every = parts_.config.artifact.digest_every;
  const int64_t last = step->phase == Phase::kWarmUp ? parts_.config.warm_up.steps : parts_.config.run.steps;
  Updater::Digests digests;
  if ((every > 0 && step->step % every == 0) || step->step == last) {
    ASSIGN_OR_RETURN(digests, updater_.DigestTensors());
  }
  RETURN_IF_ERROR(GatherStep(parts_.comm, &step->share));
  absl::StatusOr<bool> go_on = true;
  if (parts_.comm.rank() == 0) {
    StepRecord record;
    record.phase = step->phase;
    record.step = step->step;
    record.task_P = std::move(step->share.task_P);
    record.episode_N = std::move(step->share.episode_N);
    record.expert_count_E = step->expert_count_E;
    record.gradient_digests = std::move(digests.gradient);
    record.weight_digests = std::move(digests.weights);
    MetricInputs inputs = MetricInputsOf(parts_.config, choices_.loss);
    inputs.learning_rate = step->learning_rate;
    inputs.grad_norm = step->grad_norm;
    inputs.aux_loss = step->aux_loss;
    inputs.num_tokens = num_tokens_;
    record.metrics = step->phase == Phase::kWarmUp
                         ? WarmUpMetrics(inputs, step->share.outcome_N)
                         : TrainingMetrics(inputs, record, step->share.first_outcome_N, step->share.outcome_N);
    go_on = parts_.sink->Commit(record);
  }
  RETURN_IF_ERROR(AgreeOk(parts_.comm, go_on.status()));
  std::vector<int64_t> stop = {*go_on ? 0 : 1};
  RETURN_IF_ERROR(AllreduceMax(parts_.comm, absl::MakeSpan(stop)));
  RETURN_IF_ERROR(Checkpoint(step->phase, step->step));
  return stop[0] == 0;
}

absl::Status Learner::Checkpoint(Phase phase, int64_t step) {
  const bool root = parts_.comm.rank() == 0;
  std::vector<int64_t> wanted = {root && parts_.sink->WantsCheckpoint(phase, step) ? 1 : 0};
  RETURN_IF_ERROR(AllreduceMax(parts_.comm, absl::MakeSpan(wanted)));
  if (wanted[0] == 0) return absl::OkStatus();
  const models::ParameterLayout& layout = parts_.model.layout();
  Tensor first("first_moment", DType::kF32, {layout.total}), second("second_moment", DType::kF32, {layout.total});
  RETURN_IF_ERROR(updater_.GatherMoments(first.mutable_data<float>(), second.mutable_data<float>()));
  absl::Status written = absl::OkStatus();
  if (root) {
    const auto views = [&](absl::Span<const std::byte> bytes) {
      std::vector<TensorView> tensors;
      for (const models::ParameterSpec& spec : layout.specs) {
        tensors.push_back({spec.name, DType::kF32, spec.shape,
                           bytes.subspan(static_cast<size_t>(spec.offset) * sizeof(float),
                                         static_cast<size_t>(spec.size) * sizeof(float))});
      }
      return tensors;
    };
    written = parts_.sink->Checkpoint(step, views(AsBytes(parts_.model.parameters())), views(first.bytes()),
                                      views(second.bytes()));
  }
  return AgreeOk(parts_.comm, written);
}

}  // namespace reprise::rl
