#include "rl/algorithm/reference.h"

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "rl/algorithm/algorithm.h"
#include "rl/algorithm/formulas.h"
#include "rl/algorithm/metric_definitions.h"

namespace reprise::rl {
namespace {

constexpr char kIntroduction[] =
    "# Algorithms\n\n"
    "<!-- Written by `bazel run //rl/algorithm:reference_test` from the table of rl/algorithm; do not edit. -->\n\n"
    "`algorithm.name` selects a row of this table; every other key of `[algorithm]` overrides one of its\n"
    "options ([configuration.md](configuration.md)), and `./reprise validate CONFIG --print-config` prints the\n"
    "result. Options that cannot be combined are rejected before anything runs.\n\n"
    "For completion i: R_i is its weighted reward, n_i its number of tokens. For token t: logp_t, old_t and\n"
    "ref_t are its log-probability under the policy in training, the sampling policy and the reference (the\n"
    "policy when training began); V_t is the value before it; A is its advantage, A_i of the completion or A_t\n"
    "of the token. Step: all completions that were sampled together; minibatch: those of one update. A baseline\n"
    "by step compares steps of an episode: its turns, or the tokens of a completion without turns.\n\n";

constexpr char kDivergence[] =
    "## The divergence\n\n"
    "With `algorithm.beta` > 0 a loss adds beta times a divergence of the policy from the reference to each\n"
    "token's term; `algorithm.kl_estimator` selects it. From the sampled token alone, with d = ref_t - logp_t:\n"
    "`k1` is -d, `k2` d^2 / 2, `k3` exp(d) - d - 1 (Schulman, Approximating KL divergence, 2020); with\n"
    "`use_bias_correction_kl` it is multiplied by r_t. `exact` is the sum over the vocabulary of p (log p - log\n"
    "q), where p and q are the policy's and the reference's distributions at the sampling temperature, with its\n"
    "whole gradient; the reference then runs one more forward pass beside every update, and no logits are\n"
    "stored. In the reward the divergence is `k1` unless `kl_estimator` is `k2` or `k3`.\n\n"
    "The reference is the policy when training began. With `sync_ref_model` it is updated: every\n"
    "`ref_model_sync_steps` K it becomes alpha times the policy plus 1 - alpha times itself, where alpha is\n"
    "`ref_model_mixup_alpha`. So alpha 1 is a periodic copy, and K = 1 with alpha = 1 - tau an exponential\n"
    "moving average of decay tau. With beta 0 there is no reference, except for `a2po`, which regresses to it.\n\n";

constexpr char kSampling[] =
    "## What tokens are drawn from\n\n"
    "logp, old and ref are computed from the policy's whole distribution at the sampling temperature.\n"
    "`rollout.top_k`, `top_p` and `min_new_tokens` restrict which tokens can be drawn: the behaviour, which is\n"
    "the distribution that a token is drawn from, then differs from the policy. Its log-probabilities are a\n"
    "separate column in run.h5 (`behaviour_logprobs`), which a replay recomputes from the logits. Without a\n"
    "correction the loss treats the tokens as if the policy had drawn them. With `importance_correction` each\n"
    "token's policy term is multiplied by w_t = pi_old / behaviour, or all terms of a completion by the product\n"
    "of its w_t (`sequence_...`), without a gradient: at most `importance_clip_max` (`..._truncate`), or 0\n"
    "outside the bounds (`..._mask`); Yao et al., 2025, as TRL's `vllm_importance_sampling_mode` and verl's\n"
    "rollout correction. The ratio r_t is still that of the policy to the old policy. A filter only makes the\n"
    "tokens that it keeps more probable, so that w_t is at most 1; no weight can restore the tokens that it\n"
    "drops. A thought (`quiet_star`) never draws its delimiters, and a memory agent may draw operations with\n"
    "other probabilities (`memory.stage1_behaviour`), where w_t may be greater than 1. Elsewhere every w_t\n"
    "is exactly 1, and completions have no such column.\n\n"
    "`top_entropy_quantile` (Wang et al., 2025, arXiv 2506.01939) drops the policy term of all tokens but those\n"
    "of highest entropy. Departure: the divergence and the entropy bonus, which the paper does not use, are\n"
    "those of all unmasked tokens, as TRL adds the divergence after the mask.\n\n";

constexpr char kValues[] =
    "## Value functions\n\n"
    "`algorithm.baseline = \"value\"`, which the row ppo selects, trains a value function beside the policy:\n"
    "`value_model = \"head\"` is a linear head on the policy's last hidden states (`v_head.summary.weight` and\n"
    "`v_head.summary.bias`); the gradient of its loss, weighted by `vf_coef`, also reaches the policy's\n"
    "decoder. `\"network\"` is a second decoder (`value_model.…`) with such a head, which is initialized from the\n"
    "policy's decoder when training begins and shares no weights with it. Both are ordinary tensors of the run:\n"
    "one optimizer steps them, one norm clips them, and digests and checkpoints include them. `export` and the\n"
    "model that `train` writes contain only the policy: the value function stays in the run's checkpoints, from\n"
    "which `train --init-from` loads it for a run with the same kind of value function. The old values come\n"
    "from a forward pass before the step's first update.\n\n"
    "A completion or episode that was truncated by a limit is not over. With `bootstrap_truncated` its returns\n"
    "continue with the value of the state where it was truncated, because the limit belongs to the run and\n"
    "values belong to the task: the rewards that it received, including punishments of long completions, still\n"
    "count, and the rewards that it would have received are predicted. Where the limit is part of the task, or\n"
    "to match TRL and verl, set it to false: the return after the last token is then 0.\n\n";

std::string Overview() {
  std::string table =
      "| name | baseline | divided by deviation of | ratio | clip | mean | divergence in |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const AlgorithmPreset& preset : AlgorithmPresets()) {
    const AlgorithmConfig& row = preset.algorithm;
    const std::string& name = row.name;
    const Clip clip = EffectiveClip(row.loss);
    absl::StrAppend(&table, "| [`", name, "`](#", name, ") | ", BaselineName(row.advantage.baseline), " | ",
                    row.advantage.whiten_tokens                        ? "all tokens"
                    : row.advantage.baseline == Baseline::kLeaveOneOut ? "none"
                                                                       : ScaleRewardsName(row.advantage.scale_rewards),
                    " | ",
                    clip == Clip::kReinforce || clip == Clip::kRegression
                        ? "none"
                        : ImportanceLevelName(row.loss.importance_sampling_level),
                    " | ", ClipName(clip), " | ", AggregationName(EffectiveAggregation(row.loss)), " | ",
                    KlInReward(row) ? "reward" : "loss", " |\n");
  }
  return absl::StrCat(table, "\n");
}

void AppendLine(absl::string_view what, const std::string& formula, std::string* text) {
  if (!formula.empty()) absl::StrAppend(text, "- ", what, ": `", formula, "`\n");
}

std::string Section(const AlgorithmPreset& preset) {
  const AlgorithmConfig& row = preset.algorithm;
  std::string text = absl::StrCat("### ", row.name, "\n\n", preset.source, ".\n\n");
  AppendLine("advantage", AdvantageFormula(row), &text);
  AppendLine("ratio", RatioFormula(row.loss), &text);
  AppendLine("term of a token", TermFormula(row.loss), &text);
  AppendLine("loss", LossFormula(row.loss), &text);
  AppendLine("divergence", DivergenceFormula(row), &text);
  AppendLine("value loss", ValueFormula(row), &text);
  if (row.update.num_iterations > 1)
    absl::StrAppend(&text, "- updates: each completion ", row.update.num_iterations, " times a step\n");
  absl::StrAppend(&text, "\nDepartures:");
  for (const std::string& departure : Departures(row)) absl::StrAppend(&text, " ", departure);
  return absl::StrCat(text, "\n\n");
}

std::string Metrics() {
  std::string table =
      "## Metrics\n\n"
      "In `metrics.jsonl` and `run.h5`, one value per step, under TRL's names where TRL has one (and verl's, with\n"
      "`critic/`). An SFT step has `loss`, `grad_norm`, `learning_rate`, `num_tokens`, `entropy`, and, of\n"
      "completions, `aux_loss`. For a run of another workload (`run.workload`) read episode for completion, and\n"
      "decision for token: a completion is an episode, and each of its tokens a decision.\n\n"
      "Metrics over tokens or ratios include only tokens that the loss reads. They exclude the environment's\n"
      "observations; with `environment.action_mask`, the text around an action; and completions that are dropped\n"
      "by `environment.invalid_episodes`, `mask_truncated_completions`, `dynamic_sampling` or\n"
      "`filter_all_incorrect`, or because no function could score them. Without any such token they are 0\n"
      "(importance weights and `val/ratio`: 1). `completions/*`, `num_tokens`, `turns/*`,\n"
      "`sampling/sampling_logp_difference/*`, `reward*` and `rewards/*` include everything that was sampled,\n"
      "dropped or not. A minibatch in which the loss reads no token makes no update. With `minibatches_of`\n"
      "decisions the last update of a completion is every update of the last iteration in which one of its tokens\n"
      "counts: each token is in one of them. Where a minibatch ends a step's updates early (`target_kl_of`\n"
      "minibatches), the pass that found it counts as its last update here, though it changed no weight:\n"
      "`loss`, `grad_norm`, `policy/approxkl_avg` and the other metrics of losses and ratios include it.\n\n"
      "| name | meaning | reported with |\n"
      "|---|---|---|\n";
  for (const MetricDefinition& metric : MetricDefinitions()) {
    absl::StrAppend(&table, "| `", metric.name, "` | ", metric.meaning, " | ", metric.when, " |\n");
  }
  return table;
}

}  // namespace

std::string AlgorithmReferenceMarkdown() {
  std::string page = absl::StrCat(kIntroduction, Overview(), "## Rows\n\n");
  for (const AlgorithmPreset& preset : AlgorithmPresets()) absl::StrAppend(&page, Section(preset));
  return absl::StrCat(page, kDivergence, kSampling, kValues, Metrics());
}

}  // namespace reprise::rl
