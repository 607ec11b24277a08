#include "rl/policy/encoder/encoder_testing.h"

#include <any>
#include <limits>

#include "core/random/draw.h"
#include "core/status/check.h"
#include "models/decoder/testing/testing.h"

namespace reprise::rl::testing {

models::DecoderConfig SmallEncoder() {
  models::DecoderConfig config = models::testing::SmallConfig();
  config.router_aux_loss_coef = 0.5;
  return config;
}

std::unique_ptr<EncoderPolicy> RandomPolicy(const models::DecoderConfig& config, bool has_values, uint64_t seed) {
  auto created = EncoderPolicy::Create(config, {.actions = kActions, .has_values = has_values}, 1.0f);
  CHECK(created.ok());
  std::unique_ptr<EncoderPolicy> policy = std::move(*created);
  ThreadPool pool(1);
  if (config.lora.is_on()) {
    const models::DecoderLayout trunk = models::TrunkLayout(config);
    CHECK(policy
              ->LoadBase(pool,
                         [&](int spec, absl::Span<float> values) {
                           models::InitializeTensor(config, trunk, seed, spec, values);
                           return absl::OkStatus();
                         })
              .ok());
  }
  policy->InitializeEncoder(seed);
  policy->InitializeHeads(seed);
  for (size_t i = 0; i < policy->layout().specs.size(); ++i) {
    const ParameterSpec& spec = policy->layout().specs[i];
    for (int64_t j = 0; j < spec.size; ++j) {
      float& parameter = policy->mutable_parameters()[spec.offset + j];
      const double u = DrawUniform(seed, Purpose::kTest, {.step = i, .token = static_cast<uint64_t>(j)});
      if (spec.name.ends_with("lora_B.weight")) parameter = static_cast<float>(0.6 * u - 0.3);
      if (spec.kind == ParameterKind::kVector) parameter += static_cast<float>(0.6 * u - 0.3);
      if (spec.name == "action_head.1.weight") parameter *= 60.0f;  // a new head is nearly uniform
    }
  }
  policy->Refresh(pool);
  return policy;
}

TextShard::TextShard(const models::DecoderConfig& config, int64_t groups)
    : task_P_(static_cast<size_t>(groups)), episode_N_(static_cast<size_t>(2 * groups)) {
  const auto text = [&](size_t index) {
    return models::testing::RandomTokens(config, 50 + index, 1 + static_cast<int64_t>(5 * index % 9));
  };
  for (size_t n = 0; n < episode_N_.size(); ++n) {
    EpisodeRecord& episode = episode_N_[n];
    episode.terminated = n + 1 < episode_N_.size();
    episode.decisions.count = static_cast<int64_t>(n % 3) + 1;
    TextDecisions content;
    for (size_t t = 0; t <= n % 3; ++t) {
      content.token_TS.push_back(text((2 * n + 3 * t) % 7));
      content.action_T.push_back(static_cast<int32_t>((n + 2 * t) % kActions));
    }
    if (!episode.terminated) content.token_TS.push_back(text(7));
    episode.content = content;
  }
  for (size_t p = 0; p < task_P_.size(); ++p) {
    input_.push_back({&task_P_[p],
                      {&episode_N_[2 * p], &episode_N_[2 * p + 1]},
                      {static_cast<int64_t>(2 * p), static_cast<int64_t>(2 * p + 1)}});
  }
}

std::vector<std::vector<int32_t>> TextShard::DecisionTexts() const {
  std::vector<std::vector<int32_t>> texts;
  for (const EpisodeRecord& episode : episode_N_) {
    const TextDecisions& content = TextDecisionsIn(episode);
    texts.insert(texts.end(), content.token_TS.begin(), content.token_TS.begin() + episode.decisions.count);
  }
  return texts;
}

Pass RunPass(const EncoderPolicy& policy, const ShardInput& shard, const PassOptions& options) {
  Pass pass;
  std::vector<float> total(static_cast<size_t>(policy.layout().total), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> open(total.size());
  const double others = options.only_divergence ? 0 : 1;
  const EpisodeLoss loss = [&](int64_t episode, const DecisionScores& scores, const DecisionGradients& gradients) {
    for (size_t t = 0; t < scores.logprob_T.size(); ++t) {
      pass.logprobs.push_back(scores.logprob_T[t]);
      gradients.dlogprob_T[t] = static_cast<float>(others * WeightOf(episode, t));
      gradients.dentropy_T[t] = static_cast<float>(others * kEntropyWeight);
      if (scores.divergence_T.empty()) continue;
      pass.divergences.push_back(scores.divergence_T[t]);
      gradients.ddivergence_T[t] = static_cast<float>(options.only_divergence ? 1 : kDivergenceWeight);
    }
    return absl::OkStatus();
  };
  EpisodeValueLoss values;
  if (options.with_values) {
    values = [&](int64_t, absl::Span<const float> value_T, absl::Span<float> dvalue_T) {
      for (size_t t = 0; t < value_T.size(); ++t) {
        pass.values.push_back(value_T[t]);
        dvalue_T[t] = value_T[t];
      }
      return absl::OkStatus();
    };
  }
  PassTarget target = {total.data(), options.memory.max_rows == 0 ? nullptr : open.data()};
  if (options.finished != nullptr) target.finished = [&](int spec) { options.finished->push_back(spec); };
  const std::unique_ptr<PassWorkspace> workspace = policy.NewWorkspace(options.memory, options.team);
  const absl::StatusOr<PassResult> result = policy.Accumulate({.temperature = kTemperature,
                                                               .totals = options.totals,
                                                               .loss = loss,
                                                               .value_loss = values,
                                                               .reference = options.reference},
                                                              shard, target, workspace.get());
  CHECK(result.ok());
  pass.sum_M = result->sum_M;
  pass.counts = result->counts;
  pass.encoded_texts = EncoderPolicy::EncodedTexts(*workspace);
  pass.gradient.resize(total.size());
  for (const ParameterSpec& spec : policy.layout().specs) {
    std::copy_n(total.begin() + spec.offset, spec.size, pass.gradient.begin() + spec.offset);
  }
  return pass;
}

PassTotals ComputeTotals(const EncoderPolicy& policy, const ShardInput& shard) {
  const int64_t rows = policy.RowsOf(shard);
  return {rows, rows, policy.CountShard(shard, policy.NewWorkspace({}, Team()).get()), true};
}

}  // namespace reprise::rl::testing
