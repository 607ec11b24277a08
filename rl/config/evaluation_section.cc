#include "rl/config/evaluation_section.h"

#include "rl/config/key_conditions.h"

namespace reprise::rl {
namespace {

bool LooksForBest(const Config& config) { return TracksBest(config.evaluation); }

// Of a file, the seed decides the order of its problems, and so which of them are evaluated.
bool ChoosesHeldOut(const Config& config) {
  return config.evaluation.held_out_share > 0 || !config.evaluation.path.empty();
}

constexpr absl::string_view kBest = "evaluation.every above 0, with keep_best or early_stopping_patience";

using config::AtLeast;
using config::Between;
using config::FieldList;
using config::Kind;

// As in a step: draws are addressed by prompt < 2^24 and sample < 2^16.
constexpr int64_t kMostSteps = (int64_t{1} << 32) - 1;
constexpr int64_t kMostPrompts = int64_t{1} << 24;
constexpr int64_t kMostSamples = int64_t{1} << 16;

}  // namespace

void Visit(FieldList& list, EvaluationConfig& evaluation, const Conditions& when) {
  list.Section(
      "evaluation", Kind::kSemantic,
      "Evaluations on held-out problems, their frequency and their consequences. docs/evaluation.md defines the "
      "metrics.");
  list.Int("every", evaluation.every, Between(0, kMostSteps),
           "Training steps between evaluations, whose metrics are among the step's; 0 = none.");
  list.Bool("on_start", evaluation.on_start,
            "Whether there is also one before the first training step, whose metrics are among those of step 1 as "
            "eval_start_...");
  list.Int("num_prompts", evaluation.num_prompts, Between(1, kMostPrompts),
           "Held-out problems, always the same ones; at most those of the file, if there is one.");
  list.Int("num_generations", evaluation.num_generations, Between(0, kMostSamples),
           "Samples of each problem, for pass@k and mean@k, drawn as in [rollout]; 0 = only the greedy answer.");
  list.String("path", evaluation.path,
              "A file of held-out problems, as data.path; empty = those of data.path or of the task that "
              "held_out_share keeps from training.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Double("held_out_share", evaluation.held_out_share, {.low = 0, .high = 1, .without_high = true},
              "This share of all problems is never trained on: of the different prompts in data.path, or of what "
              "decides the "
              "answers of those that the task or environment can draw; 0 = a task's problems come from separate draws, "
              "which may also occur in training.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_texts));
  list.Int("split_seed", evaluation.split_seed, AtLeast(0), "A different seed holds out different problems.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_texts))
      .ReadIf(when(ChoosesHeldOut), "evaluation.held_out_share above 0, or evaluation.path");
  list.Double(
          "correct_reward", evaluation.correct_reward, {.low = config::kLeastFloat, .high = config::kMostFloat},
          "An answer is correct where its reward is at least this; none = where the task says so: the answer is "
          "matched "
          "exactly, or the environment's rewards sum to 1. With algorithm.reward process alone nothing says so, and "
          "there are no accuracies.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.String("metric_for_best_model", evaluation.metric_for_best_model,
              "The metric that determines the best evaluation: one of the evaluation's, or "
              "reward_moving_average, the mean of the training rewards of the last reward_window steps.")
      .ReadIf(when(LooksForBest), kBest);
  list.Int("reward_window", evaluation.reward_window, Between(1, 1 << 16),
           "For metric_for_best_model reward_moving_average: how many steps it is a mean of.")
      .ReadIf(when(AveragesRewards),
              "evaluation.metric_for_best_model reward_moving_average, or quiet_star.paper_metrics");
  list.Bool("greater_is_better", evaluation.greater_is_better, "Whether a greater value of that metric is better.")
      .ReadIf(when(LooksForBest), kBest);
  list.Bool("keep_best", evaluation.keep_best,
            "Whether to keep the weights of the best evaluation: a copy in memory, in the run's states and in its "
            "file.")
      .ReadIf(when([](const Config& config) { return config.evaluation.every > 0; }), "evaluation.every above 0");
  list.Bool("load_best_model_at_end", evaluation.load_best_model_at_end,
            "Whether the model that the run writes at its end has the weights of the best evaluation instead of the "
            "last "
            "step's.");
  list.Int("early_stopping_patience", evaluation.early_stopping_patience, Between(0, kMostSteps),
           "The run ends after this many evaluations in a row that are no better; 0 = never.");
  list.Double("early_stopping_threshold", evaluation.early_stopping_threshold, {.low = 0, .high = config::kMostFloat},
              "An evaluation must be better by more than this to restart the patience.")
      .ReadIf(when(LooksForBest), kBest);
}

}  // namespace reprise::rl
