// The evaluations of QuietStarWorkload.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/comm/agree.h"
#include "core/comm/gather_rows.h"
#include "core/status/status_macros.h"
#include "models/quiet_star/continuation.h"
#include "rl/workloads/quiet_star/quiet_star_workload.h"
#include "rl/workloads/quiet_star/thought_record.h"

namespace reprise::rl {
namespace {

TaskRecord TaskOfText(int64_t prompt, const ThoughtText& text) {
  TaskRecord task;
  task.prompt = prompt;
  task.content = TextToThinkAbout{text.token_S, text.counts_S};
  return task;
}

double ComputeMean(absl::Span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(std::max<size_t>(1, values.size()));
}

// Returns the mean coherence of the thoughts of a text's episodes.
double MeanCoherence(absl::Span<const EpisodeRecord> episode_G) {
  double sum = 0;
  int64_t thoughts = 0;
  for (const EpisodeRecord& episode : episode_G) {
    size_t first = 0;
    for (const models::Thought& thought : GetThoughts(episode)) {
      sum += CoherenceOf(absl::MakeConstSpan(episode.logprobs).subspan(first, thought.tokens.size()));
      first += thought.tokens.size();
      ++thoughts;
    }
  }
  return sum / static_cast<double>(std::max<int64_t>(1, thoughts));
}

}  // namespace

QuietStarWorkload::HeldOut QuietStarWorkload::EvaluateHere(int64_t step, int64_t begin, int64_t end) {
  const int64_t samples = run_.config.evaluation.num_generations;
  std::vector<ThoughtText> texts;
  std::vector<TaskRecord> task_P;
  std::vector<int64_t> answer_begin_P;
  for (int64_t prompt = begin; prompt < end; ++prompt) {
    texts.push_back(texts_.HeldOut(prompt));
    task_P.push_back(TaskOfText(prompt, texts.back()));
    answer_begin_P.push_back(texts.back().answer_begin);
  }
  std::vector<Prediction> without_P(task_P.size()), greedy_P(task_P.size());
  std::vector<double> scored_P(task_P.size(), 0.0);  // coherence by the attention mixing head, which has a score for it
  const std::vector<EpisodeRecord> greedy_N =
      Think(task_P, answer_begin_P, MakeSampling(models::kEvaluationThought, step, 1, /*greedy=*/true));
  ScoreTasks(task_P, greedy_N, [&](size_t p, const ThoughtPlaces& places, const models::ThoughtScores& scores) {
    without_P[p] = PredictionWithout(TextIn(task_P[p]), answer_begin_P[p], scores);
    greedy_P[p] = PredictionWith(TextIn(task_P[p]), answer_begin_P[p], places, 0, scores);
    scored_P[p] = ComputeMean(scores.coherence_K);
  });
  std::vector<EpisodeRecord> sample_N;
  std::vector<std::vector<Prediction>> sample_PG(task_P.size());
  if (samples > 0) {
    sample_N = Think(task_P, answer_begin_P, MakeSampling(models::kEvaluationThought, step, samples, /*greedy=*/false));
    ScoreTasks(task_P, sample_N, [&](size_t p, const ThoughtPlaces& places, const models::ThoughtScores& scores) {
      for (int64_t g = 0; g < samples; ++g) {
        sample_PG[p].push_back(PredictionWith(TextIn(task_P[p]), answer_begin_P[p], places, g, scores));
      }
      scored_P[p] = ComputeMean(scores.coherence_K);
    });
  }
  HeldOut held_out;
  const size_t of_text = samples > 0 ? static_cast<size_t>(samples) : 1;
  const std::vector<EpisodeRecord>& shown_N = samples > 0 ? sample_N : greedy_N;
  for (size_t p = 0; p < task_P.size(); ++p) {
    const absl::Span<const EpisodeRecord> episode_G = absl::MakeConstSpan(shown_N).subspan(p * of_text, of_text);
    int64_t tokens = 0;
    for (const EpisodeRecord& episode : episode_G) tokens += samples > 0 ? episode.decisions.count : 0;
    held_out.text_P.push_back(
        SummarizeHeldOut(begin + static_cast<int64_t>(p), without_P[p], greedy_P[p], sample_PG[p], tokens));
    held_out.text_P.back().coherence = scored_P[p] > 0 ? scored_P[p] : MeanCoherence(episode_G);
  }
  if (!run_.config.quiet_star.anti_theater) return held_out;
  for (const HeldOutThoughts& text : held_out.text_P) {
    ThoughtTrial& trial = held_out.trial_P.emplace_back();
    trial.without_accuracy = text.accuracy_without;
    trial.with_accuracy = text.accuracy;
    trial.coherence = text.coherence;
  }
  ContinueHere(step, begin, texts, &held_out.trial_P);
  return held_out;
}

void QuietStarWorkload::ContinueHere(int64_t step, int64_t begin, absl::Span<const ThoughtText> text_P,
                                     std::vector<ThoughtTrial>* trial_P) {
  std::vector<models::ThinkingText> texts;
  for (size_t p = 0; p < text_P.size(); ++p) {
    texts.push_back({absl::MakeConstSpan(text_P[p].token_S).first(static_cast<size_t>(text_P[p].answer_begin)),
                     static_cast<uint64_t>(begin) + p,
                     {}});
  }
  for (const bool thinks : {false, true}) {
    models::ContinuationOptions options;
    options.max_tokens = run_.config.quiet_star.theater.continuation_tokens;
    options.thinks = thinks;
    options.thoughts = MakeSampling(models::kEvaluationThought, step, 1, /*greedy=*/false);
    const std::vector<models::Continuation> continuations =
        models::ContinueTexts(policy_.network(), texts, options, run_.pool);
    for (size_t p = 0; p < continuations.size(); ++p) {
      (thinks ? (*trial_P)[p].with_tokens : (*trial_P)[p].without_tokens) = continuations[p].tokens;
    }
  }
}

absl::StatusOr<Metrics> QuietStarWorkload::Evaluate(int64_t step, int64_t) {
  const EvaluationConfig& evaluation = run_.config.evaluation;
  const HeldOut mine =
      EvaluateHere(step, FirstPromptOfShard(evaluation.num_prompts, run_.comm.size(), run_.comm.rank()),
                   FirstPromptOfShard(evaluation.num_prompts, run_.comm.size(), run_.comm.rank() + 1));
  ASSIGN_OR_RETURN(const std::vector<HeldOutThoughts> all, AllgatherRows(run_.comm, std::move(mine.text_P)));
  Metrics metrics = HeldOutMetrics(all, evaluation.num_generations);
  if (!run_.config.quiet_star.anti_theater) return metrics;
  ASSIGN_OR_RETURN(const std::vector<ThoughtTrial> trials, AllgatherRows(run_.comm, std::move(mine.trial_P)));
  ASSIGN_OR_RETURN(const AntiTheaterResult result, TestForTheater(trials, run_.config.quiet_star.theater));
  for (auto& metric : AntiTheaterMetrics(result, "eval_")) metrics.push_back(std::move(metric));
  std::sort(metrics.begin(), metrics.end());
  return metrics;
}

absl::StatusOr<std::string> QuietStarWorkload::Transcript(int64_t step) {
  const ThoughtText text = texts_.HeldOut(0);
  const std::vector<TaskRecord> task_P = {TaskOfText(0, text)};
  const std::vector<int64_t> answer_begin_P = {text.answer_begin};
  const std::vector<EpisodeRecord> greedy_N =
      Think(task_P, answer_begin_P, MakeSampling(models::kEvaluationThought, step, 1, /*greedy=*/true));
  std::string shown = absl::StrCat("text ", texts_.Shown(text.token_S), "\n");
  ScoreTasks(task_P, greedy_N, [&](size_t, const ThoughtPlaces& places, const models::ThoughtScores& scores) {
    const std::vector<PositionForesight> foresight_M = ComputeForesights(TextIn(task_P[0]), places, scores);
    for (size_t m = 0; m < foresight_M.size(); ++m) {
      const models::Thought& thought = GetThoughts(greedy_N[0])[m];
      const size_t position = static_cast<size_t>(thought.position);
      const absl::Span<const int32_t> tokens = text.token_S;
      absl::StrAppendFormat(
          &shown, "position %d behind \"%s\": thought \"%s\", log p of what follows %.3f, %+.3f by it\n",
          thought.position, texts_.Shown(tokens.subspan(position, 1)), texts_.Shown(thought.tokens),
          foresight_M[m].thought_G[0].logprob, foresight_M[m].thought_G[0].logprob - foresight_M[m].base.logprob);
    }
  });
  return shown;
}

}  // namespace reprise::rl
