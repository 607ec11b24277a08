#include "rl/workloads/completions/kind/decoder_cost.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/experts/experts.h"
#include "models/decoder/weights.h"
#include "models/lora/adapter_weights.h"
#include "rl/config/workload_traits.h"
#include "rl/gradient/sharded_optimizer.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kProgramItem = "program and libraries", kLibTorchItem = "LibTorch's packed copies";
// The memory of a nearly idle process, alone and with MPI; measured.
constexpr int64_t kProgramBytes = int64_t{22} << 20, kMpiBytes = int64_t{8} << 20;

// Operations of the products of a layer's adapters for one row.
double OperationsOfAdapters(const models::DecoderConfig& c) {
  using models::LoraModule;
  if (!c.lora.is_on()) return 0;
  const double d = static_cast<double>(c.hidden_size), keys = static_cast<double>(c.key_value_width());
  const double chosen = static_cast<double>(c.num_experts_per_tok), f = static_cast<double>(c.intermediate_size);
  double widths = 0;  // inputs and outputs of the matrices that have one
  for (const auto& [module, width] :
       {std::pair(LoraModule::kQ, 2 * d), std::pair(LoraModule::kK, d + keys), std::pair(LoraModule::kV, d + keys),
        std::pair(LoraModule::kO, 2 * d), std::pair(LoraModule::kGate, chosen * (d + f)),
        std::pair(LoraModule::kUp, chosen * (d + f)), std::pair(LoraModule::kDown, chosen * (d + f))}) {
    if (c.lora.Targets(module)) widths += width;
  }
  return 2 * static_cast<double>(c.lora.r) * widths;
}

int64_t PackedAdapterFloats(const models::DecoderConfig& decoder, const models::DecoderLayout& layout) {
  return models::AdapterWeights::Bytes({decoder.lora, layout, layout.adapters}) / kFloatBytes;
}

// Returns the layout of the frozen model to which adapters are added.
models::DecoderLayout FrozenLayout(const Config& config, const models::DecoderConfig& decoder) {
  return Traits(config).has_completions ? models::MakeBaseLayout(decoder) : models::TrunkLayout(decoder);
}

// Returns the floats of both packed copies of every matrix that is used in a product; layout: of the model, or of its
// PolicyPart. With adapters, also what is kept of the frozen model unpacked.
int64_t PackedFloats(const Config& config, const models::DecoderConfig& decoder, const models::DecoderLayout& layout) {
  if (decoder.lora.is_on()) {
    const models::DecoderLayout base = FrozenLayout(config, decoder);
    const int64_t frozen = models::PackedWeights::Bytes(decoder, base, /*training=*/true) +
                           models::PackedWeights::UnpackedBytes(decoder, base);
    return frozen / kFloatBytes + PackedAdapterFloats(decoder, layout);
  }
  int64_t bytes = models::PackedWeights::Bytes(decoder, models::PolicyPart(layout), /*training=*/true);
  if (layout.value.embedding >= 0) {
    bytes += models::PackedWeights::Bytes(decoder, models::TrunkLayout(decoder), /*training=*/true);
  }
  return bytes / kFloatBytes;
}

int64_t StateBytes(const Config& config) {
  return kFloatBytes * static_cast<int64_t>(MakeOptimizer(config.optimizer)->groups().size());
}

// A copy that only runs forward passes has one of the two packings.
void AddReference(const Config& config, const models::DecoderConfig& decoder, const models::DecoderLayout& layout,
                  MemoryEstimate* estimate) {
  const models::DecoderLayout policy = models::PolicyPart(layout);
  if (decoder.lora.is_on()) {  // it shares the frozen model
    const int64_t packed = PackedAdapterFloats(decoder, policy);
    estimate->items.push_back({"reference model", "4 (w + d)", kFloatBytes * (policy.total + packed)});
    estimate->symbols.push_back({"w", "parameters of the adapters", policy.total});
    estimate->symbols.push_back({"d", "the adapters, packed for the kernels in both directions", packed});
    return;
  }
  const int64_t policy_packed = PackedFloats(config, decoder, policy);
  const bool same = policy.total == layout.total;
  estimate->items.push_back({"reference model", same ? "4 W + 2 P" : "4 w + 2 p",
                             kFloatBytes * policy.total + kFloatBytes / 2 * policy_packed});
  if (same) return;
  estimate->symbols.push_back({"w", "parameters without the value function's", policy.total});
  estimate->symbols.push_back({"p", "their packed matrices", policy_packed});
}

// Floats of a model's matrices that LibTorch copies: none of bf16 matrices, but routers are always floats.
int64_t CopiedFloats(const Config& config, const models::DecoderConfig& decoder, const models::DecoderLayout& layout) {
  return decoder.bf16_weights ? 2 * decoder.num_hidden_layers * decoder.num_experts * decoder.hidden_size
                              : PackedFloats(config, decoder, layout);
}

// The memory of models/fast_products. A reference has only one packing, or shares the frozen one.
void AddFastProducts(const Config& config, const models::DecoderConfig& decoder, const models::DecoderLayout& layout,
                     MemoryEstimate* estimate) {
  const bool has_reference = NeedsReference(config.algorithm);
  const int64_t copied = CopiedFloats(config, decoder, layout),
                policy = CopiedFloats(config, decoder, models::PolicyPart(layout));
  estimate->items.push_back({std::string(kLibTorchItem), has_reference ? "4 M + 2 m" : "4 M",
                             kFloatBytes * copied + (has_reference ? kFloatBytes / 2 * policy : 0)});
  estimate->symbols.push_back({"M", "floats of the matrices that LibTorch packs too, in both directions", copied});
  if (has_reference) estimate->symbols.push_back({"m", "those that the reference has as well", policy});
  estimate->not_predicted =
      "LibTorch itself and what its operators keep, which depend on its build and on the ways that its contests of "
      "products try (run.reduction = \"fast\"): 200 MiB and more, and more with every thread and step";
}

}  // namespace

double OperationsOfLayer(const models::DecoderConfig& c) {
  const double d = static_cast<double>(c.hidden_size), keys = static_cast<double>(c.key_value_width());
  const double experts = static_cast<double>(c.num_experts_per_tok * c.intermediate_size);
  return 2 * d * (d + 2 * keys + d + static_cast<double>(c.num_experts) + 3 * experts) + OperationsOfAdapters(c);
}

double BackwardOperationsOfLayer(const models::DecoderConfig& c) {
  const double forward = OperationsOfLayer(c);
  return c.lora.is_on() ? forward + 1.5 * OperationsOfAdapters(c) : 2 * forward;
}

int64_t BackwardFloats(const models::DecoderConfig& c, int64_t rows) {
  const int64_t width = c.hidden_size, columns = width + 2 * c.key_value_width();
  return rows * (2 * width + 2 * columns + c.num_experts + c.num_experts_per_tok) +
         kernels::ExpertsBackwardScratch(rows * c.num_experts_per_tok, width, c.intermediate_size);
}

// Each thread keeps room for the widest input after dropout and the widest product with A and B, for a forward and for
// a backward pass (models/lora/adapter.cc). An expert has a part of the rows; that with the most is taken to have twice
// the mean.
int64_t AdapterScratchFloats(const models::DecoderConfig& c, int64_t rows) {
  using models::LoraModule;
  if (!c.lora.is_on()) return 0;
  const auto targets_any = [&](std::initializer_list<LoraModule> modules) {
    return std::any_of(modules.begin(), modules.end(), [&](LoraModule module) { return c.lora.Targets(module); });
  };
  const int64_t of_expert = std::min(rows, 2 * rows * c.num_experts_per_tok / c.num_experts);
  int64_t floats = 0, ranks = 0;
  if (targets_any({LoraModule::kQ, LoraModule::kK, LoraModule::kV, LoraModule::kO})) {
    floats = rows * c.hidden_size;
    ranks = rows * c.lora.r;
  }
  if (targets_any({LoraModule::kGate, LoraModule::kUp, LoraModule::kDown})) {
    floats = std::max(floats, of_expert * std::max(c.hidden_size, c.intermediate_size));
    ranks = std::max(ranks, of_expert * c.lora.r);
  }
  return (c.lora.dropout > 0 ? 4 : 2) * floats + 3 * ranks;
}

MemoryEstimate EstimateParameters(const Config& config, const models::DecoderConfig& decoder,
                                  const models::DecoderLayout& layout, const GradientShares& shares) {
  const bool in_any_order = config.run.reduction == Reduction::kFast;
  const int64_t packed = PackedFloats(config, decoder, layout), total = layout.total, state = StateBytes(config);
  MemoryEstimate estimate;
  estimate.symbols = {{"W", "parameters", total},
                      {"P", "the matrices, packed for the kernels in both directions; two of bf16 are one", packed},
                      {"L", "logical shards", config.run.logical_shards},
                      {"b",
                       in_any_order ? "gradients held at a time, one a thread, two where groups may be cut"
                                    : "gradients held at a time, at most 1 + log2 L for one thread",
                       shares.buffers},
                      {"O",
                       in_any_order ? "parameters whose optimizer state the rank holds: all"
                                    : "parameters whose optimizer state the rank holds, about W / ranks",
                       shares.owned},
                      {"x", "floats on their way to other ranks", shares.staged},
                      {"T", in_any_order ? "threads" : "shards that a rank computes at a time", shares.at_work}};
  estimate.items = {{"weights", "4 W", kFloatBytes * total},
                    {"packed copies", "4 P", kFloatBytes * packed},
                    {"gradient partial sums", "4 W b", kFloatBytes * total * shares.buffers},
                    {"optimizer slices", absl::StrCat(state, " O"), state * shares.owned},
                    {"exchange between ranks", "4 x", kFloatBytes * shares.staged}};
  return estimate;
}

void AddMergedModel(const Config& config, const models::DecoderConfig& decoder, MemoryEstimate* estimate) {
  if (!decoder.lora.is_on()) return;
  static constexpr absl::string_view kKept[] = {"weights", "packed copies", "backward scratch", kProgramItem,
                                                kLibTorchItem};
  int64_t freed = 0;
  for (const MemoryItem& item : estimate->items) {
    if (std::find(std::begin(kKept), std::end(kKept), item.what) == std::end(kKept)) freed += item.bytes;
  }
  const int64_t floats = FrozenLayout(config, decoder).total;
  estimate->items.push_back({"merged model, while exported", "4 V less what training has freed by then",
                             std::max<int64_t>(0, kFloatBytes * floats - freed)});
  estimate->symbols.push_back({"V", "parameters of the frozen model", floats});
}

void AddProgram(const Config& config, const models::DecoderLayout& layout, int64_t ranks, MemoryEstimate* estimate) {
  const int64_t state = StateBytes(config);
  estimate->items.push_back({"checkpoint, while written", absl::StrCat(state, " W"), state * layout.total});
  estimate->items.push_back({std::string(kProgramItem), "", ranks == 1 ? kProgramBytes : kProgramBytes + kMpiBytes});
}

void AddCopies(const Config& config, const models::DecoderConfig& decoder, const models::DecoderLayout& layout,
               MemoryEstimate* estimate) {
  if (NeedsReference(config.algorithm)) AddReference(config, decoder, layout, estimate);
  if (config.evaluation.every > 0 && config.evaluation.keep_best) {
    estimate->items.push_back({"weights of the best evaluation", "4 W", kFloatBytes * layout.total});
  }
  if (config.run.reduction == Reduction::kFast) AddFastProducts(config, decoder, layout, estimate);
}

}  // namespace reprise::rl
