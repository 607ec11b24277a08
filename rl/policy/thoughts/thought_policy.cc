#include "rl/policy/thoughts/thought_policy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "models/decoder/attention.h"
#include "models/decoder/corruption.h"
#include "models/decoder/load_balancing.h"
#include "models/quiet_star/thought_batch.h"

namespace reprise::rl {
namespace {

class Workspace final : public PassWorkspace {
 public:
  Workspace(const models::DecoderConfig& config, const PassMemory& memory, const Team& team)
      : work(config, memory.max_rows, memory.recompute, team) {}
  int64_t activation_bytes() const override { return work.activation_bytes(); }

  models::ThoughtWorkspace work;
};

models::ThoughtWorkspace& Own(PassWorkspace* workspace) { return static_cast<Workspace&>(*workspace).work; }

const ThoughtPolicy& AsThoughtPolicy(const Policy& policy) {
  const auto* const own = dynamic_cast<const ThoughtPolicy*>(&policy);
  CHECK(own != nullptr);
  return *own;
}

std::vector<ThoughtGroup> GroupsOf(const ShardInput& shard) {
  std::vector<ThoughtGroup> groups;
  groups.reserve(shard.size());
  for (const EpisodeGroup& group : shard) groups.emplace_back(group);
  return groups;
}

std::vector<models::ThoughtfulText> TextsOf(const std::vector<ThoughtGroup>& groups) {
  std::vector<models::ThoughtfulText> texts;
  texts.reserve(groups.size());
  for (const ThoughtGroup& group : groups) texts.push_back(group.view());
  return texts;
}

// Calls visit(a, token) for the text tokens that the thoughts of a group predict, in the order of the pass: of those
// that count.
template <typename Visit>
void ForMixed(const ThoughtGroup& group, int64_t tokens_ahead, const Visit& visit) {
  const models::ThoughtfulText text = group.view();
  size_t a = 0;
  for (const models::Thought& thought : text.thoughts) {
    const int64_t ahead = models::TokensAhead(thought.position, static_cast<int64_t>(text.tokens.size()), tokens_ahead);
    for (int64_t j = 1; j <= ahead; ++j, ++a) {
      if (group.text().Counts(thought.position + j)) visit(a);
    }
  }
}

// The same for the text tokens without thoughts, at s of ThoughtScores.
template <typename Visit>
void ForText(const ThoughtGroup& group, const Visit& visit) {
  for (size_t s = 0; s + 1 < group.text().token_S.size(); ++s) {
    if (group.text().Counts(static_cast<int64_t>(s) + 1)) visit(s);
  }
}

// What the policy's own loss terms and metrics are made of: sums over the tokens that count.
enum OwnSum : size_t { kTextNll, kTextCorrect, kMixedNll, kMixedCorrect, kMixingWeight, kOwnSums };

// The losses of the groups of one shard.
class Losses {
 public:
  // Coefficients of the negative log-likelihoods, already divided by the number of tokens.
  struct Coefficients {
    float text = 0, mixed = 0;
  };

  Losses(const ShardPass& pass, const Coefficients& coefficients, int64_t tokens_ahead,
         const std::vector<ThoughtGroup>& groups)
      : pass_(pass), coefficients_(coefficients), tokens_ahead_(tokens_ahead), groups_(groups), sums_(kOwnSums) {}

  absl::Status Apply(size_t index, const models::ThoughtScores& scores, models::ThoughtGradients* gradients) {
    const ThoughtGroup& group = groups_[index];
    for (size_t g = 0; g < group.episodes(); ++g) RETURN_IF_ERROR(ApplyEpisode(group, g, scores, gradients));
    ForText(group, [&](size_t s) {
      if (!group.predicts_text()) gradients->dbase_logprob_S[s] -= coefficients_.text;
      sums_[kTextNll] -= static_cast<double>(scores.base_logprob_S[s]);
      sums_[kTextCorrect] += scores.base_correct_S[s];
    });
    if (group.predicts_text()) return absl::OkStatus();
    ForMixed(group, tokens_ahead_, [&](size_t a) {
      gradients->dmixed_logprob_A[a] -= coefficients_.mixed;
      sums_[kMixedNll] -= static_cast<double>(scores.mixed_logprob_A[a]);
      sums_[kMixedCorrect] += scores.mixed_correct_A[a];
      sums_[kMixingWeight] += static_cast<double>(scores.weight_A[a]);
    });
    return absl::OkStatus();
  }

  const std::vector<double>& sums() const { return sums_; }

 private:
  absl::Status ApplyEpisode(const ThoughtGroup& group, size_t g, const models::ThoughtScores& scores,
                            models::ThoughtGradients* gradients) {
    const bool of_text = group.predicts_text();
    const int64_t index = group.group().index_G[g];
    const std::vector<float> logprob = group.OfEpisode(g, of_text ? scores.base_logprob_S : scores.logprob_T),
                             entropy = group.OfEpisode(g, of_text ? scores.base_entropy_S : scores.entropy_T);
    // There is no divergence of the text, whose gradient would be none in an SFT phase either.
    const bool has_divergence = pass_.reference != nullptr && !of_text;
    const std::vector<float> divergence =
        has_divergence ? group.OfEpisode(g, scores.divergence_T) : std::vector<float>();
    std::vector<float> dlogprob(logprob.size()), dentropy(logprob.size()), ddivergence(divergence.size());
    RETURN_IF_ERROR(pass_.loss(index, {logprob, entropy, divergence},
                               {absl::MakeSpan(dlogprob), absl::MakeSpan(dentropy), absl::MakeSpan(ddivergence)}));
    group.ToPass(g, dlogprob, absl::MakeSpan(of_text ? gradients->dbase_logprob_S : gradients->dlogprob_T));
    group.ToPass(g, dentropy, absl::MakeSpan(of_text ? gradients->dbase_entropy_S : gradients->dentropy_T));
    if (has_divergence) group.ToPass(g, ddivergence, absl::MakeSpan(gradients->ddivergence_T));
    if (!pass_.value_loss) return absl::OkStatus();
    const std::vector<float> value = group.OfPositions(g, scores.value_M);
    std::vector<float> dvalue(value.size());
    RETURN_IF_ERROR(pass_.value_loss(index, value, absl::MakeSpan(dvalue)));
    group.AddToPositions(g, dvalue, absl::MakeSpan(gradients->dvalue_M));
    return absl::OkStatus();
  }

  const ShardPass& pass_;
  const Coefficients coefficients_;
  const int64_t tokens_ahead_;
  const std::vector<ThoughtGroup>& groups_;
  std::vector<double> sums_;
};

float PerToken(double coefficient, const PassTotals& totals, int64_t tokens) {
  if (!totals.learns || tokens == 0) return 0;
  return static_cast<float>(coefficient * totals.part() / static_cast<double>(tokens));
}

// The parts of ThoughtPolicy::CountShard, over the whole step.
absl::Span<const int64_t> ExpertCounts(const PassTotals& totals) {
  return absl::MakeConstSpan(totals.count_C).subspan(0, totals.count_C.size() - 2);
}
int64_t TextTokens(const PassTotals& totals) { return totals.count_C[totals.count_C.size() - 2]; }
int64_t MixedTokens(const PassTotals& totals) { return totals.count_C.back(); }

}  // namespace

ThoughtPolicy::ThoughtPolicy(std::unique_ptr<models::ThoughtModel> model, const ThoughtPolicyOptions& options)
    : model_(std::move(model)), options_(options) {}

models::ThoughtPassOptions ThoughtPolicy::PassOptions(float temperature) const {
  models::ThoughtPassOptions options = {options_.sampling.delimiters, options_.tokens_ahead, temperature,
                                        options_.delimiter_gradient_weight};
  options.divergence_from_reference = options_.divergence_from_reference;
  return options;
}

void ThoughtPolicy::ScoreGroups(const ShardInput& shard, const GroupScores& receive, PassWorkspace* workspace) const {
  const std::vector<ThoughtGroup> groups = GroupsOf(shard);
  models::ThoughtPassOptions options = PassOptions(options_.sampling.sampling.temperature);
  const auto is_silent = [](const ThoughtGroup& group) { return group.view().thoughts.empty(); };
  options.dispersion = options_.dispersion && std::ranges::all_of(groups, is_silent);
  models::ScoreThoughts(
      network(), TextsOf(groups), options,
      [&](int64_t text, const models::ThoughtScores& scores) { receive(static_cast<size_t>(text), scores); },
      &Own(workspace));
}

std::unique_ptr<Policy> ThoughtPolicy::FrozenCopy() const {
  return std::make_unique<ThoughtPolicy>(model_->FrozenCopy(), options_);
}

void ThoughtPolicy::MoveTowards(const Policy& policy, double alpha, ThreadPool& pool) {
  model_->MoveTowards(*AsThoughtPolicy(policy).model_, alpha, pool);
}

bool ThoughtPolicy::SharesWith(const Policy& other) const { return model_->SharesWith(*AsThoughtPolicy(other).model_); }

std::unique_ptr<PassWorkspace> ThoughtPolicy::NewWorkspace(const PassMemory& memory, const Team& team) const {
  return std::make_unique<Workspace>(model_->config(), memory, team);
}

int64_t ThoughtPolicy::RowsOf(const ShardInput& shard) const {
  const std::vector<ThoughtGroup> groups = GroupsOf(shard);
  return models::RowsOf(TextsOf(groups), options_.tokens_ahead);
}

std::vector<int64_t> ThoughtPolicy::CountShard(const ShardInput& shard, PassWorkspace* workspace) const {
  const std::vector<ThoughtGroup> groups = GroupsOf(shard);
  std::vector<int64_t> count_C = models::NoExpertCounts(model_->config());
  if (model_->config().router_aux_loss_coef != 0) {
    models::CountThoughtExperts(network(), TextsOf(groups), PassOptions(1.0f), absl::MakeSpan(count_C),
                                &Own(workspace));
  }
  int64_t text = 0, mixed = 0;
  for (const ThoughtGroup& group : groups) {
    ForText(group, [&](size_t) { ++text; });
    ForMixed(group, options_.tokens_ahead, [&](size_t) { ++mixed; });
  }
  count_C.push_back(text);
  count_C.push_back(mixed);
  return count_C;
}

absl::StatusOr<PassResult> ThoughtPolicy::Accumulate(const ShardPass& pass, const ShardInput& shard,
                                                     const PassTarget& target, PassWorkspace* workspace) const {
  const PassTotals& totals = pass.totals;
  CHECK_EQ(totals.count_C.size(), num_counts());
  const double balance = totals.learns ? model_->config().router_aux_loss_coef * totals.part() : 0;
  const models::AuxiliaryGradient auxiliary_E =
      models::LoadBalancingGradient(model_->config(), balance, ExpertCounts(totals), totals.step_rows);
  const std::vector<ThoughtGroup> groups = GroupsOf(shard);
  Losses losses(pass,
                {PerToken(options_.base_nll_coef, totals, TextTokens(totals)),
                 PerToken(options_.mixed_nll_coef, totals, MixedTokens(totals))},
                options_.tokens_ahead, groups);
  const models::ThoughtLoss loss = [&](int64_t text, const models::ThoughtScores& scores,
                                       models::ThoughtGradients* gradients) {
    return losses.Apply(static_cast<size_t>(text), scores, gradients);
  };
  const models::Decoder* const reference =
      pass.reference == nullptr ? nullptr : &AsThoughtPolicy(*pass.reference).model_->decoder();
  models::ThoughtPassOptions options = PassOptions(pass.temperature);
  if (totals.learns && !shard.empty()) {
    options.dropout = {options_.sampling.seed, static_cast<uint64_t>(shard.front().step)};
  }
  ASSIGN_OR_RETURN(models::ThoughtPassResult of_pass,
                   models::AccumulateThoughts(network(), TextsOf(groups), options, {reference, auxiliary_E, loss},
                                              {target.total, target.open, target.finished}, &Own(workspace)));
  PassResult result;
  result.counts = {of_pass.text_rows, of_pass.thought_rows, of_pass.batches, of_pass.cut_texts};
  result.largest_logits = std::move(of_pass.largest_logit_LH);
  result.sum_M = losses.sums();
  of_pass.probability_sum_E.resize(static_cast<size_t>(model_->config().num_experts));
  result.sum_M.insert(result.sum_M.end(), of_pass.probability_sum_E.begin(), of_pass.probability_sum_E.end());
  return result;
}

Metrics ThoughtPolicy::OwnMetrics(const PassTotals& totals, absl::Span<const double> sum_M) const {
  const double text = static_cast<double>(TextTokens(totals)), mixed = static_cast<double>(MixedTokens(totals));
  Metrics metrics;
  const auto add = [&](const char* name, OwnSum sum, double tokens) {
    if (tokens > 0) metrics.emplace_back(name, sum_M[sum] / tokens * totals.part());
  };
  add("mixed_accuracy", kMixedCorrect, mixed);
  add("mixed_nll", kMixedNll, mixed);
  add("mixing_weight", kMixingWeight, mixed);
  add("text_accuracy", kTextCorrect, text);
  add("text_nll", kTextNll, text);
  if (model_->config().router_aux_loss_coef == 0) return metrics;
  const std::vector<double> probability_sum_E(sum_M.begin() + kOwnSums, sum_M.end());
  metrics.emplace_back("aux_loss", models::LoadBalancingLoss(model_->config(), ExpertCounts(totals), probability_sum_E,
                                                             totals.step_rows) *
                                       totals.part());
  return metrics;
}

int64_t ThoughtPolicy::ClipAttention(absl::Span<const float> largest_logits, double threshold) {
  if (largest_logits.empty()) return 0;
  return models::ClipAttention(model_->config(), model_->layout(), largest_logits, threshold, mutable_parameters());
}

void ThoughtPolicy::Score(const ShardInput& shard, float temperature, const EpisodeScores& receive,
                          PassWorkspace* workspace) const {
  const std::vector<ThoughtGroup> groups = GroupsOf(shard);
  const auto of_text = [&](int64_t text, const models::ThoughtScores& scores) {
    const ThoughtGroup& group = groups[text];
    const bool is_text = group.predicts_text();
    for (size_t g = 0; g < group.episodes(); ++g) {
      receive(group.group().index_G[g], group.OfEpisode(g, is_text ? scores.base_logprob_S : scores.logprob_T),
              group.OfEpisode(g, is_text ? scores.base_entropy_S : scores.entropy_T));
    }
  };
  models::ScoreThoughts(network(), TextsOf(groups), PassOptions(temperature), of_text, &Own(workspace));
}

void ThoughtPolicy::ScoreBehaviour(const ShardInput& shard, const EpisodeNumbers& receive,
                                   PassWorkspace* workspace) const {
  const std::vector<ThoughtGroup> groups = GroupsOf(shard);
  const std::vector<std::vector<float>> logprob_NT =
      models::ScoreThoughtBehaviour(network(), TextsOf(groups), PassOptions(options_.sampling.sampling.temperature),
                                    options_.sampling, &Own(workspace));
  for (size_t i = 0; i < groups.size(); ++i) {
    CHECK(!groups[i].predicts_text());
    for (size_t g = 0; g < groups[i].episodes(); ++g) {
      receive(groups[i].group().index_G[g], groups[i].OfEpisode(g, logprob_NT[i]));
    }
  }
}

void ThoughtPolicy::PredictValues(const ShardInput& shard, bool after_truncation, const EpisodeNumbers& receive,
                                  PassWorkspace* workspace) const {
  CHECK(model_->heads().has_values());
  const std::vector<ThoughtGroup> groups = GroupsOf(shard);
  const auto of_text = [&](int64_t text, const models::ThoughtScores& scores) {
    const ThoughtGroup& group = groups[text];
    for (size_t g = 0; g < group.episodes(); ++g) {
      CHECK(!after_truncation || group.group().episode_G[g]->terminated);  // a text ends with its last token
      receive(group.group().index_G[g], group.OfPositions(g, scores.value_M));
    }
  };
  models::ScoreThoughts(network(), TextsOf(groups), PassOptions(1.0f), of_text, &Own(workspace));
}

std::string ThoughtPolicy::FindCorruption(const TaskRecord& task, const EpisodeRecord& episode) const {
  const EpisodeGroup group = {&task, {&episode}, {0}};
  const ThoughtGroup thoughts(group);
  const models::ThoughtfulText text = thoughts.view();
  const models::ThoughtPassOptions options = PassOptions(1.0f);
  const models::ThoughtRowsOptions of_rows = {.delimiters = options.delimiters, .tokens_ahead = options.tokens_ahead};
  const models::BatchPlan plan = models::PlanBatches({&text, 1}, of_rows, 0).front();
  const models::ThoughtRows rows = models::PackThoughts({&text, 1}, plan, of_rows);
  std::string found = models::FindCorruption(model_->model(), rows.batch);
  if (!found.empty()) return found;
  // A new copy packs the same parameters, so it has other results only if the packed weights here are corrupted.
  models::DecoderLayout layout = models::MakeDecoderLayout(model_->config());
  models::ThoughtHeads copy(model_->heads().width(), model_->heads().shape(), &layout);
  copy.Refresh(parameters());
  const auto results = [&](const models::ThoughtHeads& heads) {
    models::ThoughtWorkspace work(model_->config(), 0, false, Team());
    std::vector<float> numbers;
    models::ScoreThoughts(
        {model_->decoder(), heads}, {&text, 1}, options,
        [&](int64_t, const models::ThoughtScores& scores) {
          numbers = scores.weight_A;
          numbers.insert(numbers.end(), scores.value_M.begin(), scores.value_M.end());
        },
        &work);
    return numbers;
  };
  const std::vector<float> own = results(model_->heads()), again = results(copy);
  const bool same =
      own.size() == again.size() && std::memcmp(own.data(), again.data(), own.size() * sizeof(float)) == 0;
  return same ? "" : "a packed copy of the heads' weights";
}

}  // namespace reprise::rl
