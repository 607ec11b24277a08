#include "rl/policy/decoder/decoder_policy.h"

#include <algorithm>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "models/decoder/attention.h"
#include "models/decoder/corruption.h"
#include "models/decoder/load_balancing.h"
#include "models/generation/draw_token.h"
#include "rl/policy/decoder/shard_pass.h"
#include "rl/policy/decoder/shard_scores.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

class DecoderWorkspace : public PassWorkspace {
 public:
  DecoderWorkspace(const models::DecoderConfig& config, const PassMemory& memory, const Team& team)
      : shard(config, memory.recompute), max_rows(memory.max_rows) {
    shard.team = team;
  }
  int64_t activation_bytes() const override {
    int64_t bytes = 0;
    for (const ShardWorkspace* at = &shard; at != nullptr; at = at->reference.get()) {
      bytes += at->activations.bytes() + at->prompt_activations.bytes();
    }
    return bytes;
  }

  ShardWorkspace shard;
  const int64_t max_rows;
};

DecoderWorkspace& Own(PassWorkspace* workspace) { return static_cast<DecoderWorkspace&>(*workspace); }

TrainingGroup MakeTrainingGroup(const EpisodeGroup& episodes) {
  TrainingGroup group = {CompletionOf(*episodes.task).tokens, {}};
  for (const EpisodeRecord* episode : episodes.episode_G) group.completion_G.push_back(CompletionOf(*episode).tokens);
  return group;
}

// The place of a group whose adapters' inputs are dropped.
models::DropoutPlace MakeDropoutPlace(const EpisodeGroup& episodes, uint64_t seed) {
  return {.seed = seed,
          .step = static_cast<uint64_t>(episodes.step),
          .prompt = static_cast<uint64_t>(episodes.task->prompt),
          .in_sft = episodes.phase == Phase::kSft};
}

int64_t EpisodeIndex(const ShardInput& shard, int64_t group, int64_t completion) {
  return shard[group].index_G[completion];
}

constexpr int64_t kObserved = -1;  // a token of an observation

// Returns for each token its index within its action.
std::vector<int64_t> NumbersInActions(const CompletionEpisode& episode) {
  std::vector<int64_t> number_T;
  for (const TurnRecord& turn : episode.turn_K) {
    number_T.insert(number_T.end(), static_cast<size_t>(turn.observation_tokens), kObserved);
    for (int64_t t = 0; t < turn.action_tokens; ++t) number_T.push_back(t);
  }
  while (episode.turn_K.empty() && number_T.size() < episode.tokens.size()) {
    number_T.push_back(static_cast<int64_t>(number_T.size()));
  }
  return number_T;
}

// Completions with one more, arbitrary token: the value of a state is computed together with the token that follows it.
using LongerCompletions = std::vector<std::vector<int32_t>>;

// Puts the longer completion in place of each truncated one; `longer` receives the tokens, which `groups` views.
void AddStatesOfTruncation(const ShardInput& shard, std::vector<TrainingGroup>* groups,
                           std::vector<LongerCompletions>* longer) {
  longer->resize(shard.size());
  for (size_t g = 0; g < shard.size(); ++g) {
    (*longer)[g].resize(shard[g].episode_G.size());
    for (size_t c = 0; c < shard[g].episode_G.size(); ++c) {
      if (shard[g].episode_G[c]->terminated) continue;
      std::vector<int32_t>& tokens = (*longer)[g][c];
      tokens = CompletionOf(*shard[g].episode_G[c]).tokens;
      tokens.push_back(0);
      (*groups)[g].completion_G[c] = tokens;
    }
  }
}

}  // namespace

std::vector<TrainingGroup> DecoderPolicy::MakeTrainingGroups(const ShardInput& shard) const {
  std::vector<TrainingGroup> groups;
  for (const EpisodeGroup& episodes : shard) {
    TrainingGroup group = MakeTrainingGroup(episodes);
    if (model_.config().lora.dropout > 0) {
      group.dropout = MakeDropoutPlace(episodes, sampling_.seed);
      for (const EpisodeRecord* episode : episodes.episode_G) {
        group.sample_G.push_back(static_cast<uint64_t>(episode->sample));
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

const models::Model& DecoderPolicy::ModelOf(const Policy& policy) {
  const DecoderPolicy* const decoder = dynamic_cast<const DecoderPolicy*>(&policy);
  CHECK(decoder != nullptr);
  return decoder->model_;
}

void DecoderPolicy::StartValueFunction(ThreadPool& pool) {
  if (model_.config().value_model == models::ValueModel::kNone) return;
  model_.CopyTrunkToValueNetwork();
  model_.Refresh(pool);
}

std::unique_ptr<Policy> DecoderPolicy::FrozenCopy() const {
  models::DecoderConfig config = model_.config();
  config.value_model = models::ValueModel::kNone;
  config.lora.dropout = 0;
  std::unique_ptr<models::Model> copy = models::Model::Create(config, /*training=*/false);
  std::copy_n(model_.parameters().begin(), copy->layout().total, copy->mutable_parameters().begin());
  CHECK(copy->ShareIfEqual(model_));
  return std::unique_ptr<Policy>(new DecoderPolicy(std::move(copy), sampling_));
}

void DecoderPolicy::MoveTowards(const Policy& policy, double alpha, ThreadPool& pool) {
  const float share = static_cast<float>(alpha), rest = static_cast<float>(1.0 - alpha);
  const absl::Span<const float> from = policy.parameters();
  const absl::Span<float> to = model_.mutable_parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i] = alpha == 1.0 ? from[i] : share * from[i] + rest * to[i];
  if (!model_.ShareIfEqual(ModelOf(policy))) model_.Refresh(pool);
}

std::unique_ptr<PassWorkspace> DecoderPolicy::NewWorkspace(const PassMemory& memory, const Team& team) const {
  return std::make_unique<DecoderWorkspace>(model_.config(), memory, team);
}

int64_t DecoderPolicy::RowsOf(const ShardInput& shard) const {
  int64_t all = 0;
  for (const TrainingGroup& group : MakeTrainingGroups(shard)) {
    const GroupRows rows = rl::MakeGroupRows(group);
    all += rows.prompt;
    for (const int64_t completion : rows.completion_G) all += completion;
  }
  return all;
}

std::vector<int64_t> DecoderPolicy::CountShard(const ShardInput& shard, PassWorkspace* workspace) const {
  DecoderWorkspace& own = Own(workspace);
  return CountShardExperts(model_.decoder(), MakeTrainingGroups(shard), own.max_rows, &own.shard);
}

absl::StatusOr<PassResult> DecoderPolicy::Accumulate(const ShardPass& pass, const ShardInput& shard,
                                                     const PassTarget& target, PassWorkspace* workspace) const {
  const CompletionLoss loss = [&](int64_t group, int64_t completion, const DecisionScores& scores,
                                  const DecisionGradients& gradients) {
    return pass.loss(EpisodeIndex(shard, group, completion), scores, gradients);
  };
  CompletionValueLoss value_loss;
  if (pass.value_loss) {
    value_loss = [&](int64_t group, int64_t completion, absl::Span<const float> value_T, absl::Span<float> dvalue_T) {
      return pass.value_loss(EpisodeIndex(shard, group, completion), value_T, dvalue_T);
    };
  }
  // The experts' shares are those of the whole step's rows; the mean is over the update's rows.
  const PassTotals& totals = pass.totals;
  const double balance = totals.learns ? model_.config().router_aux_loss_coef * totals.part() : 0;
  const models::AuxiliaryGradient auxiliary_E =
      models::LoadBalancingGradient(model_.config(), balance, totals.count_C, totals.step_rows);
  const models::Decoder* const reference = pass.reference == nullptr ? nullptr : &ModelOf(*pass.reference).decoder();
  DecoderWorkspace& own = Own(workspace);
  ASSIGN_OR_RETURN(ShardCounts counts,
                   RunShardPass(model_, {pass.temperature, auxiliary_E, loss, value_loss, reference},
                                MakeTrainingGroups(shard), own.max_rows, target, &own.shard));
  return PassResult{counts, std::move(counts.probability_sum_E), std::move(counts.largest_logit_LH)};
}

int64_t DecoderPolicy::ClipAttention(absl::Span<const float> largest_logits, double threshold) {
  return models::ClipAttention(model_.config(), model_.layout(), largest_logits, threshold,
                               model_.mutable_parameters());
}

std::vector<std::pair<std::string, double>> DecoderPolicy::OwnMetrics(const PassTotals& totals,
                                                                      absl::Span<const double> sum_M) const {
  const std::vector<double> probability_sum_E(sum_M.begin(), sum_M.end());
  return {{"aux_loss", models::LoadBalancingLoss(model_.config(), totals.count_C, probability_sum_E, totals.step_rows) *
                           totals.part()}};
}

void DecoderPolicy::Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
                          PassWorkspace* workspace) const {
  DecoderWorkspace& own = Own(workspace);
  ScoreShard(
      model_.decoder(), MakeTrainingGroups(shard), own.max_rows, temperature,
      [&](int64_t group, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float> entropy_T) {
        receive(EpisodeIndex(shard, group, completion), logprob_T, entropy_T);
      },
      &own.shard);
}

void DecoderPolicy::ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive,
                                   PassWorkspace* workspace) const {
  DecoderWorkspace& own = Own(workspace);
  std::vector<int64_t> number_T;
  std::vector<float> logprob_T;
  ShowShardLogits(
      model_.decoder(), MakeTrainingGroups(shard), own.max_rows,
      [&](int64_t group, int64_t completion, int64_t token, absl::Span<float> logits) {
        const CompletionEpisode& episode = CompletionOf(*shard[group].episode_G[completion]);
        const size_t t = static_cast<size_t>(token);
        if (t == 0) {
          number_T = NumbersInActions(episode);
          logprob_T.assign(episode.tokens.size(), 0.0f);
        }
        if (number_T[t] != kObserved) {
          kernels::SamplingWorkspace sampling;
          logprob_T[t] = models::BehaviourLogprob(sampling_, number_T[t], episode.tokens[t], logits, &sampling);
        }
        if (t + 1 == episode.tokens.size()) receive(EpisodeIndex(shard, group, completion), logprob_T);
      },
      &own.shard);
}

void DecoderPolicy::PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                                  PassWorkspace* workspace) const {
  DecoderWorkspace& own = Own(workspace);
  std::vector<TrainingGroup> groups = MakeTrainingGroups(shard);
  std::vector<LongerCompletions> longer;
  if (after_truncation) AddStatesOfTruncation(shard, &groups, &longer);
  EvaluateShard(
      model_.value_decoder(), model_.value_head(), groups, own.max_rows,
      [&](int64_t group, int64_t completion, absl::Span<const float> value_T) {
        receive(EpisodeIndex(shard, group, completion), value_T);
      },
      &own.shard);
}

std::string DecoderPolicy::FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const {
  return rl::FindCorruption(model_, task, episode);
}

// The batch is as in sampling: one sequence without its last token, which nothing follows.
std::string FindCorruption(const models::Model& model, const TaskRecord& task, const EpisodeRecord& episode) {
  models::PackedBatch batch;
  batch.token_T = CompletionOf(task).tokens;
  const std::vector<int32_t>& tokens = CompletionOf(episode).tokens;
  batch.token_T.insert(batch.token_T.end(), tokens.begin(), tokens.end());
  batch.token_T.pop_back();
  for (size_t t = 0; t < batch.token_T.size(); ++t) batch.position_T.push_back(static_cast<int32_t>(t));
  batch.segments.push_back({0, batch.rows(), models::kNoPrefix});
  return models::FindCorruption(model, batch);
}

}  // namespace reprise::rl
