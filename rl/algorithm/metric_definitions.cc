#include "rl/algorithm/metric_definitions.h"

namespace reprise::rl {
namespace {

constexpr MetricDefinition kDefinitions[] = {
    {"reward", "mean over completions of the weighted sum of the rewards"},
    {"reward_std", "mean over groups of the standard deviation of that sum"},
    {"frac_reward_zero_std", "share of groups whose rewards are all equal"},
    {"rewards/{function}/mean", "mean over completions of one reward, unweighted"},
    {"rewards/{function}/std", "its standard deviation over completions"},
    {"loss", "sum of the losses of the last update that saw each completion; not a measure of progress"},
    {"grad_norm", "norm of the last update's gradient before clipping"},
    {"learning_rate", "of the step"},
    {"num_tokens", "tokens of prompts and completions since the phase began"},
    {"aux_loss", "the routers' load-balancing loss, before its coefficient"},
    {"entropy", "mean over tokens of the policy's entropy at the sampling temperature"},
    {"completions/mean_length", "tokens of a completion, the end token with them: mean"},
    {"completions/min_length", "least"},
    {"completions/max_length", "greatest"},
    {"completions/mean_terminated_length", "the same over completions that ended with an end token: mean"},
    {"completions/min_terminated_length", "least"},
    {"completions/max_terminated_length", "greatest"},
    {"completions/clipped_ratio", "share of completions that were cut off by length"},
    {"sampling/sampling_logp_difference/mean",
     "mean over tokens of |log-probability while sampling - the same in training|: 0, or the run ends"},
    {"sampling/sampling_logp_difference/max", "its greatest value: 0"},
    {"log_ratio/abs_max", "greatest |logp - old| of the last update that saw each completion"},
    {"log_ratio/clamped", "ratios whose logarithm left [-20, 20]"},
    {"clip_ratio/low_mean", "share of ratios that are clipped below (A < 0): mean", "clip two_sided"},
    {"clip_ratio/low_min", "least share of a completion", "clip two_sided"},
    {"clip_ratio/high_mean", "share of ratios that are clipped above (A > 0): mean", "clip two_sided"},
    {"clip_ratio/high_max", "greatest share of a completion", "clip two_sided"},
    {"clip_ratio/region_mean", "share of ratios that are clipped on either side", "clip two_sided"},
    {"clip_ratio/dual_mean", "share of ratios that the dual clip holds", "dual_clip set"},
    {"cispo_clip_ratio", "share of ratios that are capped", "clip cispo"},
    {"vespo/phi_seq_mean", "mean over completions of phi", "clip vespo"},
    {"kl", "mean over tokens of the divergence from the reference as it stands in loss or reward", "beta > 0"},
    {"kl_coef", "beta of the step", "kl_schedule other than fixed"},
    {"entropy_coef", "of the step", "entropy_coef > 0"},
    {"num_updates", "updates since training began", "target_kl > 0"},
    {"sampling/importance_sampling_ratio/mean", "weights of importance correction: mean", "importance_correction"},
    {"sampling/importance_sampling_ratio/min", "least, 1 at most", "importance_correction"},
    {"sampling/importance_sampling_ratio/max", "greatest, 1 at least", "importance_correction"},
    {"loss/policy_avg", "the policy's part of loss", "baseline value"},
    {"loss/value_avg", "the value function's part, with vf_coef", "baseline value"},
    {"val/clipfrac_avg", "share of values that had moved farther than cliprange_value", "baseline value"},
    {"critic/vf_explained_var",
     "1 - Var(return - value) / Var(return) over the step's tokens, values as the step began", "baseline value"},
    {"critic/values/mean", "mean over tokens of these values", "baseline value"},
    {"critic/returns/mean", "mean over tokens of the returns", "baseline value"},
};

}  // namespace

absl::Span<const MetricDefinition> MetricDefinitions() { return kDefinitions; }

}  // namespace reprise::rl
