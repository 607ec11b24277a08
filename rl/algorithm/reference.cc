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
    "`algorithm.name` names a row of this table; every other key of `[algorithm]` overrides one choice of it\n"
    "([configuration.md](configuration.md)), and `./reprise validate CONFIG --print-config` shows what they come to.\n"
    "Choices that exclude each other are refused before anything runs.\n\n"
    "Of completion i: R_i its weighted reward, n_i its tokens. Of token t: logp_t, old_t, ref_t its log-probability "
    "under\n"
    "the policy in training, the policy that sampled and the reference (the policy as training began); V_t the value\n"
    "before it; A its advantage, A_i of the completion or A_t of its own. Step: all completions that were sampled\n"
    "together; minibatch: those of one update.\n\n";

constexpr char kDivergence[] =
    "## The divergence\n\n"
    "With `algorithm.beta` > 0 a loss adds beta times a divergence of the policy from the reference to each token's\n"
    "term; `algorithm.kl_estimator` says which. From the drawn token alone, with d = ref_t - logp_t: `k1` -d, `k2`\n"
    "d^2 / 2, `k3` exp(d) - d - 1 (Schulman, Approximating KL divergence, 2020), by `use_bias_correction_kl` times "
    "r_t.\n"
    "`exact`: the sum over the vocabulary of p (log p - log q), p and q the policy's and the reference's "
    "distributions\n"
    "at the sampling temperature, with its whole gradient. The reference then runs forward once more beside every\n"
    "update, and no logits are kept. In the reward the divergence is `k1` unless `kl_estimator` says `k2` or `k3`.\n\n"
    "The reference is the policy as training began. With `sync_ref_model` it follows: every `ref_model_sync_steps` K "
    "it\n"
    "becomes alpha of the policy and 1 - alpha of itself, alpha being `ref_model_mixup_alpha`. So alpha 1 is a "
    "periodic\n"
    "copy, and K = 1 with alpha = 1 - tau an exponential moving average of decay tau. With beta 0 there is none,\n"
    "but for `a2po`, which regresses to it.\n\n";

constexpr char kSampling[] =
    "## What tokens are drawn from\n\n"
    "logp, old and ref are of the policy's whole distribution at the sampling temperature. `rollout.top_k`, `top_p` "
    "and\n"
    "`min_new_tokens` restrict what is drawn: the behaviour, what a token was drawn from, then is another "
    "distribution\n"
    "than the policy, and its log-probabilities are a column of their own in run.h5 (`behaviour_logprobs`), which a "
    "replay\n"
    "recomputes from the logits. Without a correction the loss takes the tokens as if the policy had drawn them. With\n"
    "`importance_correction` each token's policy term is multiplied by w_t = pi_old / behaviour, or all of a "
    "completion's by\n"
    "the product of its w_t (`sequence_...`), without a gradient: at most `importance_clip_max` (`..._truncate`), or "
    "0\n"
    "outside the bounds (`..._mask`); Yao et al., 2025, as TRL's `vllm_importance_sampling_mode` and verl's rollout\n"
    "correction. The ratio r_t stays that of the policy to the old policy. A filter only makes what it keeps more "
    "probable,\n"
    "so that w_t is at most 1, and what it leaves out no weight can bring back. Where nothing is restricted there is "
    "no such\n"
    "column, and every w_t is exactly 1.\n\n"
    "`top_entropy_quantile` (Wang et al., 2025, arXiv 2506.01939) drops the policy term of all tokens but those of "
    "highest\n"
    "entropy. Departure: divergence and entropy bonus, which the paper trains without, stay those of all tokens that\n"
    "count, as TRL adds the divergence after the mask.\n\n";

constexpr char kValues[] =
    "## Value functions\n\n"
    "`algorithm.baseline = \"value\"`, which the row ppo chooses, trains a value function beside the policy:\n"
    "`value_model = \"head\"` is a linear head on the policy's last hidden states (`v_head.summary.weight` and\n"
    "`v_head.summary.bias`), whose loss's gradient flows, with weight `vf_coef`, into the policy's decoder too;\n"
    "`\"network\"` is a second decoder (`value_model.…`) with such a head, which begins as the policy's decoder when\n"
    "training begins and shares nothing with it. Both are tensors of the run as any other: one optimizer steps them, "
    "one\n"
    "norm clips them, digests, checkpoints and resumption hold them. `export`, and the model that `train` leaves, are "
    "the\n"
    "policy alone: the value function stays in the run's checkpoints, from which `train --init-from` takes it along to "
    "a\n"
    "run with the same one. The old values are those of a forward pass before the step's first update.\n\n"
    "A completion or episode that was cut off by a limit is not over. With `bootstrap_truncated` its returns go on "
    "with the\n"
    "value of the state that it was cut off at, because the limit is the run's and values are the task's: what it was\n"
    "given, punishments of long completions among it, still counts, and what it would have been given is foretold. "
    "Where the\n"
    "limit is a part of the task, and to do as TRL and verl, set it to false: then nothing follows the last token.\n\n";

AlgorithmRow Row(absl::string_view name) {
  const absl::StatusOr<AlgorithmRow> row = FindAlgorithm(name);
  CHECK(row.ok());
  return *row;
}

std::string Overview() {
  std::string table =
      "| name | baseline | divided by deviation of | ratio | clip | mean | divergence in |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const absl::string_view name : AlgorithmNames()) {
    const AlgorithmRow row = Row(name);
    const Clip clip = ClipOf(row.loss);
    absl::StrAppend(&table, "| [`", name, "`](#", name, ") | ", BaselineName(row.advantage.baseline), " | ",
                    row.advantage.whiten_tokens                        ? "all tokens"
                    : row.advantage.baseline == Baseline::kLeaveOneOut ? "none"
                                                                       : ScaleRewardsName(row.advantage.scale_rewards),
                    " | ",
                    clip == Clip::kReinforce || clip == Clip::kRegression
                        ? "none"
                        : ImportanceLevelName(row.loss.importance_sampling_level),
                    " | ", ClipName(clip), " | ", AggregationName(AggregationOf(row.loss)), " | ",
                    KlInReward(row) ? "reward" : "loss", " |\n");
  }
  return absl::StrCat(table, "\n");
}

void AppendLine(absl::string_view what, const std::string& formula, std::string* text) {
  if (!formula.empty()) absl::StrAppend(text, "- ", what, ": `", formula, "`\n");
}

std::string Section(const AlgorithmRow& row) {
  std::string text = absl::StrCat("### ", row.name, "\n\n", row.source, ".\n\n");
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
      "Of `metrics.jsonl` and `run.h5`, one a step, under TRL's names where TRL has one (and verl's, with `critic/`). "
      "A\n"
      "warm-up step has `loss`, `grad_norm`, `learning_rate`, `num_tokens`, `aux_loss` and `entropy`.\n\n"
      "What is of tokens or ratios is of those that the loss reads: not what an environment said, nor, with\n"
      "`environment.action_mask`, what stands around an action, nor completions that are left out, by\n"
      "`environment.invalid_episodes`, `mask_truncated_completions`, `dynamic_sampling` or `filter_all_incorrect` or\n"
      "because no function could score them; without any it is 0 (weights of importance correction, `val/ratio`: 1).\n"
      "`completions/*`, `num_tokens`, `turns/*`, `sampling/sampling_logp_difference/*`,\n"
      "`reward*` and `rewards/*` are of all that was sampled, left out or not. Where no token of a minibatch counts, "
      "it\n"
      "makes no update.\n\n"
      "| name | meaning | told with |\n|---|---|---|\n";
  for (const MetricDefinition& metric : MetricDefinitions()) {
    absl::StrAppend(&table, "| `", metric.name, "` | ", metric.meaning, " | ", metric.when, " |\n");
  }
  return table;
}

}  // namespace

std::string AlgorithmReferenceMarkdown() {
  std::string page = absl::StrCat(kIntroduction, Overview(), "## Rows\n\n");
  for (const absl::string_view name : AlgorithmNames()) absl::StrAppend(&page, Section(Row(name)));
  return absl::StrCat(page, kDivergence, kSampling, kValues, Metrics());
}

}  // namespace reprise::rl
