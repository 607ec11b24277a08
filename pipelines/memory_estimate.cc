#include "pipelines/memory_estimate.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/comm/ownership.h"
#include "core/comm/shard_map.h"
#include "core/comm/tree_exchange.h"
#include "core/status/check.h"
#include "kernels/experts/experts.h"
#include "kernels/lm_head/lm_head.h"
#include "models/decoder/activations.h"
#include "models/decoder/inference.h"
#include "models/decoder/parameters.h"
#include "models/decoder/weights.h"
#include "rl/learner/gradient_exchange.h"
#include "rl/learner/parameter_units.h"
#include "rl/learner/task_batch.h"

namespace reprise {
namespace {

constexpr int64_t kFloat = 4;  // bytes
// What a process takes that does next to nothing, alone and with MPI; measured.
constexpr int64_t kProgramBytes = int64_t{22} << 20, kMpiBytes = int64_t{8} << 20;

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Gradients in use at most when the rank's shards come one after the other.
int64_t SequentialBuffers(const ShardMap& shards, int rank) {
  const std::vector<TreeNode> subtrees = shards.SubtreesOf(rank);
  std::set<std::pair<int, int>> finished;
  size_t most = 0;
  for (int shard : shards.ComputationOrder(rank)) {
    most = std::max(most, finished.size() + 1);
    TreeNode node = {0, shard};
    while (std::find(subtrees.begin(), subtrees.end(), node) == subtrees.end() &&
           finished.erase({node.level, node.index ^ 1}) > 0) {
      node = {node.level + 1, node.index / 2};
    }
    finished.insert({node.level, node.index});
  }
  return static_cast<int64_t>(std::max(most, finished.size()));
}

ShardMap MapOf(int64_t logical_shards, int64_t ranks) {
  absl::StatusOr<ShardMap> map = ShardMap::Create(static_cast<int>(logical_shards), static_cast<int>(ranks));
  CHECK(map.ok());
  return *std::move(map);
}

// Floats of both packed copies of every matrix that enters a product; `layout`: of the model, or of its PolicyPart.
int64_t PackedFloats(const models::DecoderConfig& decoder, const models::ParameterLayout& layout) {
  int64_t bytes = models::PackedWeights::Bytes(decoder, models::PolicyPart(layout), /*training=*/true);
  if (layout.value.embedding >= 0) {
    bytes += models::PackedWeights::Bytes(decoder, models::ValueTrunkLayout(decoder), /*training=*/true);
  }
  return bytes / kFloat;
}

// The most prompts of a step that one rank has.
int64_t PromptsOfRank(const rl::Config& config, int64_t ranks) {
  const ShardMap shards = MapOf(config.run.logical_shards, ranks);
  int64_t most = 0;
  for (int rank = 0; rank < shards.ranks(); ++rank) {
    const ShardRange range = shards.ShardsOf(rank);
    const auto first = [&](int shard) {
      return rl::FirstPromptOfShard(config.rollout.prompts_per_step, shards.shards(), shard);
    };
    most = std::max(most, first(range.end) - first(range.begin));
  }
  return most;
}

// Rows of the largest batch that a shard of `groups` equal groups is trained in: whole groups, or, where those are too
// long, completions, of which one may be longer than the bound.
int64_t LargestBatch(int64_t groups, int64_t prompt, int64_t completion, int64_t generations, int64_t max_rows) {
  const int64_t all = groups * (prompt + completion * generations);
  return max_rows == 0 ? all : std::min(all, std::max({max_rows, prompt, completion}));
}

int64_t RowsOfLargestBatch(const rl::Config& config, const LongestTexts& longest) {
  const int64_t shards = config.run.logical_shards, max_rows = config.execution.micro_batch_tokens;
  const int64_t training =
      LargestBatch(CeilDivide(config.rollout.prompts_per_step, shards), longest.prompt,
                   config.rollout.max_completion_length - 1, config.rollout.num_generations, max_rows);
  if (config.warm_up.steps == 0) return training;
  return std::max(training,
                  LargestBatch(CeilDivide(config.warm_up.prompts_per_step, shards), longest.warm_up, 0, 1, max_rows));
}

// Floats that the backward pass and the lm-head take beside the activations, for `rows` rows.
int64_t ScratchFloats(const models::DecoderConfig& c, int64_t rows) {
  const int64_t width = c.hidden_size, columns = width + 2 * c.key_value_width();
  const int64_t backward = rows * (2 * width + 2 * columns + c.num_experts + c.num_experts_per_tok) +
                           kernels::ExpertsBackwardScratch(rows * c.num_experts_per_tok, width, c.intermediate_size);
  const int64_t head =
      std::max(kernels::LmHeadBackwardScratch(rows, width, c.vocab_size), kernels::LmHeadScratch(rows, c.vocab_size));
  const int64_t values = c.value_model == models::ValueModel::kNone ? 0 : rows * (width + 1) + 32 * width;
  return backward + head + rows * 3 * width + values;
}

// Floats of the exchange's buffers on the rank that has the most.
int64_t ExchangeFloats(const rl::Config& config, const models::ParameterLayout& layout, int64_t ranks) {
  const ShardMap shards = MapOf(config.run.logical_shards, ranks);
  const std::vector<rl::ParameterUnit> units = rl::MakeParameterUnits(layout);
  const Ownership ownership = Ownership::Deal(rl::UnitExtents(units), static_cast<int>(ranks));
  const std::vector<ExchangeBucket> buckets = rl::BackwardBuckets(units, ownership, config.execution.exchange_floats);
  int64_t most = 0;
  for (int rank = 0; rank < shards.ranks(); ++rank) {
    most = std::max(most, ExchangeBufferFloats(shards, buckets, rank));
  }
  return most;
}

// The embedding's part of its gradient waits beside the lm-head's (models::ShardGradient).
void AddTiedEmbedding(const models::ParameterLayout& layout, int64_t at_work, MemoryEstimate* estimate) {
  const int64_t floats = layout.specs[static_cast<size_t>(layout.embedding)].size;
  estimate->items.push_back({"tied embedding's gradient", "4 e T", kFloat * floats * at_work});
  estimate->symbols.push_back({"e", "parameters of the embedding", floats});
}

// A copy that only runs forward keeps one of the two packings.
void AddReference(const models::DecoderConfig& decoder, const models::ParameterLayout& layout,
                  MemoryEstimate* estimate) {
  const models::ParameterLayout policy = models::PolicyPart(layout);
  const int64_t policy_packed = PackedFloats(decoder, policy);
  const bool same = policy.total == layout.total;
  estimate->items.push_back(
      {"reference model", same ? "4 W + 2 P" : "4 w + 2 p", kFloat * policy.total + kFloat / 2 * policy_packed});
  if (same) return;
  estimate->symbols.push_back({"w", "parameters without the value function's", policy.total});
  estimate->symbols.push_back({"p", "their packed matrices", policy_packed});
}

// The reference runs forward beside every update, for the exact divergence. The logits of both are held for some rows
// at a time.
void AddReferencePass(const models::DecoderConfig& decoder, int64_t rows, int64_t prompt_floats, int64_t at_work,
                      MemoryEstimate* estimate) {
  const int64_t width = decoder.hidden_size, vocabulary = decoder.vocab_size;
  const int64_t floats = models::Activations::FloatsPerRow(decoder, /*training=*/true, /*recompute=*/true) + width;
  const int64_t logits = kernels::LmHeadBackwardScratch(rows, width, vocabulary, /*with_divergence=*/true) -
                         kernels::LmHeadBackwardScratch(rows, width, vocabulary) +
                         kernels::HeadDivergenceScratch(rows, vocabulary);
  estimate->items.push_back({"the reference's activations", "4 (r B + g + z) T",
                             kFloat * (floats * rows + prompt_floats + logits) * at_work});
  estimate->symbols.push_back({"r", "floats a row of them", floats});
  estimate->symbols.push_back({"z", "floats of logits, the policy's and its", logits});
}

}  // namespace

int64_t MemoryEstimate::total_bytes() const {
  int64_t total = 0;
  for (const MemoryItem& item : items) total += item.bytes;
  return total;
}

int64_t GradientBuffers(int64_t logical_shards, int64_t ranks, int64_t threads, bool cut) {
  const ShardMap shards = MapOf(logical_shards, ranks);
  int64_t most = 0;
  for (int rank = 0; rank < shards.ranks(); ++rank) {
    const ShardRange range = shards.ShardsOf(rank);
    const int64_t at_work = std::min<int64_t>(threads, range.end - range.begin);
    most = std::max(most, SequentialBuffers(shards, rank) + at_work - 1 + (cut ? at_work : 0));
  }
  return most;
}

MemoryEstimate EstimateMemory(const rl::Config& config, const models::DecoderConfig& decoder, int64_t ranks,
                              int64_t threads, const LongestTexts& longest) {
  const models::ParameterLayout layout = models::MakeParameterLayout(decoder);
  const int64_t shards = config.run.logical_shards, generations = config.rollout.num_generations;
  const int64_t owned =
      Ownership::Deal(rl::UnitExtents(rl::MakeParameterUnits(layout)), static_cast<int>(ranks)).MaxFloats();
  const int64_t at_work = std::min(threads, CeilDivide(shards, ranks));
  const int64_t buffers = GradientBuffers(shards, ranks, threads, config.execution.micro_batch_tokens != 0);
  const int64_t rows = RowsOfLargestBatch(config, longest);
  const int64_t row_floats =
      models::Activations::FloatsPerRow(decoder, /*training=*/true, config.execution.activation_checkpointing);
  // A cut group's prompt has activations of its own, which keep everything.
  const int64_t prompt_rows = config.execution.micro_batch_tokens == 0 ? 0 : longest.prompt;
  const int64_t prompt_floats = models::Activations::FloatsPerRow(decoder, /*training=*/true);
  const int64_t prompts = PromptsOfRank(config, ranks), completions = prompts * generations;
  const int64_t slots =
      config.execution.decode_slots == 0 ? completions : std::min(config.execution.decode_slots, completions);
  // Every thread may have a group that is nearly done beside those that fill its slots.
  const int64_t open_prompts = std::min(prompts, CeilDivide(slots, generations) + threads);
  const int64_t length = config.rollout.max_completion_length;
  const int64_t sampled_floats = models::Activations::FloatsPerRow(decoder, /*training=*/false);
  const int64_t sampled_rows = std::max(slots, open_prompts * longest.prompt);
  const int64_t staged = ExchangeFloats(config, layout, ranks), scratch = ScratchFloats(decoder, rows);
  const int64_t packed = PackedFloats(decoder, layout), total = layout.total;

  MemoryEstimate estimate;
  estimate.symbols = {
      {"W", "parameters", total},
      {"P", "the matrices, packed for the kernels in both directions; two of bf16 are one", packed},
      {"L", "logical shards", shards},
      {"b", "gradients held at a time, at most 1 + log2 L for one thread", buffers},
      {"O", "parameters whose optimizer state the rank holds, about W / ranks", owned},
      {"x", "floats on their way to other ranks", staged},
      {"T", "shards that a rank computes at a time", at_work},
      {"B", "rows of the largest micro-batch", rows},
      {"g", "floats of activations of the prompt of a group that was cut", prompt_rows * prompt_floats},
      {"A", "floats a row of activations", row_floats},
      {"S", "floats of scratch in the backward pass of a micro-batch", scratch},
      {"Q", "completions decoded at a time", slots},
      {"C", "floats of a completion's keys and values", models::KeyValueCache::Floats(decoder, length)},
      {"q", "prompts held while they are decoded", open_prompts},
      {"c", "floats of a prompt's keys and values", models::KeyValueCache::Floats(decoder, longest.prompt)},
      {"R", "rows that are sampled at a time", sampled_rows},
      {"a", "floats a sampled row, logits included", sampled_floats + decoder.vocab_size}};
  const auto value = [&](absl::string_view letter) {
    return std::find_if(estimate.symbols.begin(), estimate.symbols.end(),
                        [&](const MemorySymbol& symbol) { return symbol.letter == letter; })
        ->value;
  };
  estimate.items = {
      {"weights", "4 W", kFloat * total},
      {"packed copies", "4 P", kFloat * packed},
      {"gradient partial sums", "4 W b", kFloat * total * buffers},
      {"optimizer slices", "8 O", 2 * kFloat * owned},
      {"exchange between ranks", "4 x", kFloat * staged},
      {"activations", "4 (A B + g) T", kFloat * (row_floats * rows + value("g")) * at_work},
      {"backward scratch", "4 S T", kFloat * scratch * at_work},
      {"key and value caches", "4 (C Q + c q)", kFloat * (value("C") * slots + value("c") * open_prompts)},
      {"sampled rows", "4 a R", kFloat * value("a") * sampled_rows},
      {"checkpoint, while written", "8 W", 2 * kFloat * total},
      {"program and libraries", "", ranks == 1 ? kProgramBytes : kProgramBytes + kMpiBytes}};
  if (decoder.tie_word_embeddings) AddTiedEmbedding(layout, at_work, &estimate);
  if (config.algorithm.beta > 0 || config.algorithm.kl_schedule != "fixed") AddReference(decoder, layout, &estimate);
  if (config.algorithm.kl_estimator == "exact") {
    AddReferencePass(decoder, rows, value("g"), at_work, &estimate);
  }
  if (config.evaluation.every > 0 && config.evaluation.keep_best) {
    estimate.items.push_back({"weights of the best evaluation", "4 W", kFloat * total});
  }
  return estimate;
}

std::string FormatBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 || value >= 99.5 ? absl::StrFormat("%.0f %s", value, kUnits[unit])
                                    : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string MemoryTable(const MemoryEstimate& estimate) {
  std::string table = "memory of a rank, at most:\n";
  for (const MemoryItem& item : estimate.items) {
    absl::StrAppendFormat(&table, "  %-30s %-15s %12s\n", item.what, item.formula, FormatBytes(item.bytes));
  }
  absl::StrAppendFormat(&table, "  %-30s %-15s %12s\n", "total", "", FormatBytes(estimate.total_bytes()));
  absl::StrAppend(&table, "where, in floats of 4 bytes:\n");
  for (const MemorySymbol& symbol : estimate.symbols) {
    absl::StrAppendFormat(&table, "  %s = %d  %s\n", symbol.letter, symbol.value, symbol.meaning);
  }
  return table;
}

}  // namespace reprise
