#include "rl/workloads/morphogenesis/kind/growth_cost.h"

#include <algorithm>
#include <utility>

#include "core/status/status_macros.h"
#include "rl/workloads/completions/kind/gradient_shares.h"
#include "rl/workloads/morphogenesis/prepared_growth.h"
#include "rl/workloads/morphogenesis/section/morphogenesis_section.h"

namespace reprise::rl {
namespace {

constexpr int64_t kFloatBytes = 4;
// Of LibTorch 78 to 112 MiB were measured; for the same hosts it differs by up to 24 MiB between checkouts in different
// directories and between parent processes.
constexpr int64_t kProgramBytes = int64_t{22} << 20, kMpiBytes = int64_t{8} << 20, kLibTorchBytes = int64_t{98} << 20;
// Floats for each element of a convolution's result, and for each of a layer's width and of a token's logits. They were
// measured: LibTorch keeps what the backward pass reads until the whole graph is gone.
constexpr int64_t kOfConvolution = 8, kOfLayer = 30, kOfLogits = 4;
constexpr int64_t kHostCopies = 5;  // parameters, gradients, momentum, and both in the governor's snapshot

HostCost CostOfCnn(const models::CnnShape& cnn, int64_t batch_size) {
  HostCost cost;
  int64_t pixels = cnn.image_size * cnn.image_size, inputs = cnn.image_channels, elements = 0;
  cost.example = pixels * inputs + 1;
  for (int64_t i = 0; i < cnn.num_blocks; ++i) {
    const int64_t outputs = cnn.base_channels << i;
    const double product = 2.0 * static_cast<double>(pixels * 9 * inputs * outputs);
    cost.forward += product;
    cost.backward += (i == 0 ? 1 : 2) * product;  // no gradient of the images
    cost.parameters += 9 * inputs * outputs + 2 * outputs;
    elements += pixels * outputs;
    pixels /= 4;
    inputs = outputs;
  }
  cost.parameters += (inputs + 1) * cnn.num_classes;
  cost.activations = batch_size * (kOfConvolution * elements + 2 * cost.example);
  return cost;
}

HostCost CostOfTransformer(const models::TransformerShape& t, int64_t batch_size) {
  HostCost cost;
  const int64_t of_layer = 12 * t.width * t.width, logits = t.vocab_size * t.width;
  const double tokens = static_cast<double>(t.block_size);
  // Scores and their sums of values read half of all pairs of tokens.
  const double attention = 2 * tokens * static_cast<double>(t.width);
  cost.forward = tokens * (static_cast<double>(t.num_layers) * (2.0 * static_cast<double>(of_layer) + attention) +
                           2.0 * static_cast<double>(logits));
  cost.backward = 2 * cost.forward;
  cost.parameters = t.num_layers * (of_layer + 13 * t.width) + logits + (t.block_size + 2) * t.width;
  cost.example = 2 * t.block_size;
  cost.activations = batch_size * t.block_size * (kOfLayer * t.num_layers * t.width + kOfLogits * t.vocab_size);
  return cost;
}

StepOperations CountOperations(const Config& config, const models::HostTask& task, const HostCost& host,
                               const FlatLayout& controller) {
  const double episodes = static_cast<double>(config.rollout.prompts_per_step * config.rollout.num_generations);
  const double decisions = episodes * static_cast<double>(task.max_epochs);
  const double train = static_cast<double>(config.morphogenesis.train_examples);
  const double validation = static_cast<double>(config.morphogenesis.validation_examples);
  const double pass = 2.0 * static_cast<double>(controller.total);  // of the controller, over a decision
  StepOperations operations;
  operations.sampling = decisions * (train * (host.forward + host.backward) + validation * host.forward + pass);
  operations.forward = decisions * pass * static_cast<double>(config.algorithm.update.num_iterations);
  operations.backward = 2 * operations.forward;
  return operations;
}

MemoryEstimate MemoryOf(const Config& config, const models::HostTask& task, const HostCost& host,
                        const FlatLayout& controller, int64_t ranks, int64_t threads) {
  const GradientShares shares = EstimateShares(config, controller, ranks, threads, LongestTexts());
  const MorphogenesisConfig& growth = config.morphogenesis;
  const int64_t players = std::min(threads, shares.prompts * config.rollout.num_generations);
  const bool has_images = task.shape.topology == models::Topology::kCnn;
  const int64_t stored = growth.train_examples * (has_images ? host.example : host.example / 2);
  const int64_t epoch = growth.train_examples * host.example, validation = growth.validation_examples * host.example;
  MemoryEstimate estimate;
  estimate.symbols = {{"T", "threads that play a host", players},
                      {"A", "floats of activations of a host's batch", host.activations},
                      {"H", "parameters of a host, without seeds", host.parameters},
                      {"E", "floats of an epoch's examples", epoch},
                      {"V", "floats of the examples of a validation", validation},
                      {"e", "bytes of the examples for training", stored},
                      {"W", "parameters of the controller", controller.total},
                      {"b", "gradients held at a time", shares.buffers}};
  estimate.items = {{"hosts' activations", "4 A T", kFloatBytes * host.activations * players},
                    {"hosts", "20 H T", kFloatBytes * kHostCopies * host.parameters * players},
                    {"examples of an epoch", "4 E T", kFloatBytes * epoch * players},
                    {"examples", "4 V + e", kFloatBytes * validation + stored},
                    {"controller and its update", "4 W (4 + b)", kFloatBytes * controller.total * (4 + shares.buffers)},
                    {"program and libraries", "", kProgramBytes + (ranks == 1 ? 0 : kMpiBytes)},
                    {"LibTorch", "", kLibTorchBytes}};
  return estimate;
}

}  // namespace

HostCost CostOfHost(const models::HostShape& shape, int64_t batch_size) {
  return shape.topology == models::Topology::kCnn ? CostOfCnn(shape.cnn, batch_size)
                                                  : CostOfTransformer(shape.transformer, batch_size);
}

absl::StatusOr<RunCost> EstimateGrowth(const Config& config, int64_t ranks, int64_t threads) {
  ASSIGN_OR_RETURN(const models::HostTask task, MakeHostTask(config.morphogenesis));
  ASSIGN_OR_RETURN(FlatLayout controller, MakeGrowthLayout(config));
  const int64_t batch = std::min<int64_t>(
      task.batch_size, std::max(config.morphogenesis.train_examples, config.morphogenesis.validation_examples));
  const HostCost host = CostOfHost(task.shape, batch);
  MemoryEstimate memory = MemoryOf(config, task, host, controller, ranks, threads);
  const StepOperations operations = CountOperations(config, task, host, controller);
  return RunCost{std::move(controller), std::move(memory), operations, "a step of hosts in which nothing grows"};
}

}  // namespace reprise::rl
