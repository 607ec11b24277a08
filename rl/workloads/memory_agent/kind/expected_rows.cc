#include "rl/workloads/memory_agent/kind/expected_rows.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/comm/exchange/shard_map.h"
#include "core/random/draw.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/memory/operation.h"
#include "rl/policy/encoder/text_decisions.h"
#include "rl/schedule/minibatches.h"
#include "rl/workload/workload.h"
#include "rl/workloads/memory_agent/memory_metrics.h"
#include "rl/workloads/memory_agent/memory_task.h"
#include "rl/workloads/memory_agent/play.h"
#include "rl/workloads/memory_agent/simulated_episode.h"

namespace reprise::rl {
namespace {

constexpr int64_t kMostSteps = 8, kEnoughEpisodes = 512;

using States = std::vector<std::vector<int32_t>>;  // the tokens of an episode's states, in order

// What reads texts: a configuration's world, and how it is encoded.
struct Reader {
  const Config& config;
  const models::Tokenizer& tokenizer;
  int64_t positions;

  uint64_t seed() const { return static_cast<uint64_t>(config.run.seed); }
  int64_t max_rows() const { return config.execution.micro_batch_tokens; }
};

// Returns the states of an episode of uniformly drawn operations.
absl::StatusOr<States> PlayUniformly(const Reader& reader, const MemoryTask& task, int64_t sample) {
  const uint64_t sample_index = static_cast<uint64_t>(sample);
  SimulatedEpisode episode(reader.config.memory, reader.seed(), task, sample_index);
  States states;
  while (!episode.is_over()) {
    ASSIGN_OR_RETURN(states.emplace_back(), TokensOfState(reader.tokenizer, reader.positions, episode.StateText()));
    const DrawAt at = {
        .step = task.step, .prompt = task.prompt, .sample = sample_index, .turn = episode.operations().size()};
    episode.Act(static_cast<data::MemoryOperation>(
        DrawBelow(reader.seed(), Purpose::kSampling, at, data::kMemoryOperationCount)));
  }
  return states;
}

absl::StatusOr<std::vector<States>> PlayTasks(const Reader& reader, absl::Span<const MemoryTask> task_P,
                                              int64_t samples) {
  std::vector<States> states_N;
  for (const MemoryTask& task : task_P) {
    for (int64_t sample = 0; sample < samples; ++sample) {
      ASSIGN_OR_RETURN(states_N.emplace_back(), PlayUniformly(reader, task, sample));
    }
  }
  return states_N;
}

// Returns the rows of the largest micro-batch.
int64_t LargestBatch(const UniqueTexts& texts, int64_t max_rows) {
  int64_t most = 0;
  for (const kernels::Range& range : texts.MicroBatches(max_rows)) {
    int64_t rows = 0;
    for (int64_t u = range.begin; u < range.end; ++u) rows += static_cast<int64_t>(texts.text(u).size());
    most = std::max(most, rows);
  }
  return most;
}

// Adds what drawing these episodes reads: in each round the next states of all that are not over.
void AddDrawing(absl::Span<const States> states_N, int64_t max_rows, ExpectedRows* rows) {
  for (size_t t = 0;; ++t) {
    UniqueTexts texts;
    for (const States& states : states_N) {
      if (t < states.size()) texts.Add(states[t]);
    }
    if (texts.texts() == 0) return;
    rows->drawn += static_cast<double>(texts.tokens());
    rows->drawn_batch = std::max(rows->drawn_batch, LargestBatch(texts, max_rows));
  }
}

// Returns the episodes of each minibatch of the step's first iteration, ascending.
std::vector<std::vector<int64_t>> Deal(const UpdateOptions& options, const std::vector<States>& states_N,
                                       int64_t samples, uint64_t seed, uint64_t step) {
  std::vector<std::vector<int64_t>> minibatches;
  if (options.unit == MinibatchUnit::kDecision) {
    std::vector<int64_t> decisions_N;
    for (const States& states : states_N) decisions_N.push_back(static_cast<int64_t>(states.size()));
    for (const auto& minibatch : SplitDecisions(decisions_N, options, seed, step, /*iteration=*/0)) {
      std::vector<int64_t>& episodes = minibatches.emplace_back();
      for (const DecisionSubset& dealt : minibatch) episodes.push_back(dealt.episode);
    }
    return minibatches;
  }
  const int64_t of_unit = options.unit == MinibatchUnit::kGroup ? samples : 1;
  const int64_t units = static_cast<int64_t>(states_N.size()) / of_unit;
  const std::vector<int64_t> order = ShuffledOrder(units, seed, step, /*iteration=*/0);
  auto next = order.begin();
  for (const int64_t size :
       BatchSizes(units, options.mini_batch_size > 0 ? 0 : options.num_mini_batches, options.mini_batch_size)) {
    std::vector<int64_t>& episodes = minibatches.emplace_back();
    for (int64_t i = 0; i < size; ++i, ++next) {
      for (int64_t n = *next * of_unit; n < (*next + 1) * of_unit; ++n) episodes.push_back(n);
    }
    std::sort(episodes.begin(), episodes.end());
  }
  return minibatches;
}

// Returns the distinct states of those of `episodes` that are in [first, end).
UniqueTexts TextsOf(const std::vector<States>& states_N, absl::Span<const int64_t> episodes, int64_t first,
                    int64_t end) {
  UniqueTexts texts;
  for (const int64_t n : episodes) {
    if (n < first || n >= end) continue;
    for (const std::vector<int32_t>& state : states_N[n]) texts.Add(state);
  }
  return texts;
}

// Adds the passes of one iteration over a step. end_K: the end of each part, in episodes.
void AddIteration(const Reader& reader, const std::vector<States>& states_N,
                  const std::vector<std::vector<int64_t>>& minibatches, absl::Span<const int64_t> end_K,
                  ExpectedRows* rows) {
  for (const std::vector<int64_t>& episodes : minibatches) {
    int64_t first = 0;
    for (const int64_t end : end_K) {
      const UniqueTexts texts = TextsOf(states_N, episodes, std::exchange(first, end), end);
      const double tokens = static_cast<double>(texts.tokens());
      rows->updates += tokens;
      if (texts.MicroBatches(reader.max_rows()).size() > 1) rows->repeated += tokens;
      rows->update_batch = std::max(rows->update_batch, LargestBatch(texts, reader.max_rows()));
    }
  }
}

// Returns where the parts of a step end, in prompts.
std::vector<int64_t> ListPartEnds(int64_t prompts, int64_t parts) {
  std::vector<int64_t> ends;
  for (int64_t part = 1; part <= parts; ++part) ends.push_back(prompts * part / parts);
  return ends;
}

// Returns where each rank's prompts end.
std::vector<int64_t> RankEnds(int64_t prompts, int64_t logical_shards, int64_t ranks) {
  const absl::StatusOr<ShardMap> map = ShardMap::Create(static_cast<int>(logical_shards), static_cast<int>(ranks));
  CHECK(map.ok());
  std::vector<int64_t> ends;
  for (int rank = 0; rank < map->ranks(); ++rank) {
    ends.push_back(FirstPromptOfShard(prompts, map->shards(), map->ShardsOf(rank).end));
  }
  return ends;
}

// Adds the largest micro-batch of an evaluation.
absl::Status AddEvaluation(const Reader& reader, int64_t ranks, ExpectedRows* rows) {
  const EvaluationConfig& evaluation = reader.config.evaluation;
  if (evaluation.every == 0) return absl::OkStatus();
  ExpectedRows held_out;  // the first rank's share is as large as any
  const std::vector<MemoryTask> tasks = HeldOutMemoryTasks(reader.config, /*rank=*/0, static_cast<int>(ranks));
  ASSIGN_OR_RETURN(const std::vector<States> states_N,
                   PlayTasks(reader, tasks, std::max<int64_t>(1, evaluation.num_generations)));
  AddDrawing(states_N, reader.max_rows(), &held_out);
  rows->drawn_batch = std::max(rows->drawn_batch, held_out.drawn_batch);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExpectedRows> ExpectRows(const Config& config, const AlgorithmConfig& algorithm,
                                        const models::Tokenizer& tokenizer, int64_t positions, int64_t ranks,
                                        int64_t parts) {
  const Reader reader = {config, tokenizer, positions};
  const int64_t prompts = config.rollout.prompts_per_step, samples = config.rollout.num_generations;
  const int64_t steps = std::clamp<int64_t>(kEnoughEpisodes / (prompts * samples), 1, kMostSteps);
  std::vector<int64_t> end_K = ListPartEnds(prompts, parts);
  for (int64_t& end : end_K) end *= samples;
  ExpectedRows rows;
  for (int64_t step = 1; step <= steps; ++step) {
    std::vector<MemoryTask> tasks;
    for (int64_t prompt = 0; prompt < prompts; ++prompt) {
      tasks.push_back(DrawMemoryTask(reader.seed(), Purpose::kTask, LastStage(config.memory),
                                     static_cast<uint64_t>(step), static_cast<uint64_t>(prompt)));
    }
    ASSIGN_OR_RETURN(const std::vector<States> states_N, PlayTasks(reader, tasks, samples));
    int64_t first = 0;
    for (const int64_t end : RankEnds(prompts, config.run.logical_shards, ranks)) {
      AddDrawing(absl::MakeConstSpan(states_N).subspan(static_cast<size_t>(first * samples),
                                                       static_cast<size_t>((end - first) * samples)),
                 reader.max_rows(), &rows);
      first = end;
    }
    ExpectedRows whole;
    std::vector<int64_t> all(states_N.size());
    for (size_t n = 0; n < all.size(); ++n) all[n] = static_cast<int64_t>(n);
    AddIteration(reader, states_N, {all}, end_K, &whole);
    rows.shards += whole.updates;
    // Drawing also counts the experts' tokens, and scores are computed, in passes over whole shards.
    rows.update_batch = std::max(rows.update_batch, whole.update_batch);
    AddIteration(reader, states_N,
                 Deal(algorithm.update, states_N, samples, reader.seed(), static_cast<uint64_t>(step)), end_K, &rows);
  }
  const double mean = 1.0 / static_cast<double>(steps),
               iterations = static_cast<double>(algorithm.update.num_iterations);
  rows.drawn *= mean;
  rows.shards *= mean;
  rows.updates *= mean * iterations;
  rows.repeated *= mean * iterations;
  RETURN_IF_ERROR(AddEvaluation(reader, ranks, &rows));
  return rows;
}

}  // namespace reprise::rl
