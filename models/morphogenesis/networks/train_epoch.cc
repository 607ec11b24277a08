#include "models/morphogenesis/networks/train_epoch.h"

#include <cmath>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "core/status/status_macros.h"
#include "models/morphogenesis/life_cycle/gradient_statistics.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "torch/csrc/autograd/autograd.h"

namespace reprise::models {
namespace {

struct BatchGradients {
  Tensors host, seed;
};

void AppendTensors(const Sgd* sgd, Tensors* tensors) {
  if (sgd == nullptr) return;
  for (const NamedTensor& parameter : sgd->parameters()) tensors->push_back(parameter.tensor);
}

BatchGradients GradientsOf(const at::Tensor& loss, const EpochOptions& options) {
  Tensors leaves;
  AppendTensors(options.host_sgd, &leaves);
  const auto host = static_cast<std::ptrdiff_t>(leaves.size());
  AppendTensors(options.seed_sgd, &leaves);
  const Tensors all = torch::autograd::grad({loss}, leaves, {}, /*retain_graph=*/false, /*create_graph=*/false,
                                            /*allow_unused=*/true);
  return {{all.begin(), all.begin() + host}, {all.begin() + host, all.end()}};
}

GradientSpans SpansOf(const Tensors& gradients) {
  GradientSpans spans;
  for (const at::Tensor& gradient : gradients) {
    if (gradient.defined()) spans.emplace_back(Data(gradient), static_cast<size_t>(gradient.numel()));
  }
  return spans;
}

void Summarise(const BatchGradients& gradients, const EpochOptions& options, Slot* slot, EpochTraining* result) {
  const GradientTotal host = TotalOf(SpansOf(gradients.host));
  result->host_gradient_norm = host.norm;
  if (options.seed_sgd == nullptr) return;
  const GradientSpans seed = SpansOf(gradients.seed);
  const GradientStatistics statistics = CollectGradientStatistics(seed);
  result->seed_gradient_ratio = SeedGradientRatio(host, TotalOf(seed));
  if (options.collect_gradients) result->gradients = statistics;
  slot->RecordGradients(statistics, result->seed_gradient_ratio);
}

double ValueOf(const at::Tensor& scalar) { return static_cast<double>(Data(scalar.detach())[0]); }

}  // namespace

absl::Status CheckBatches(const Host& host, absl::Span<const HostBatch> batches) {
  for (const HostBatch& batch : batches) RETURN_IF_ERROR(host.CheckBatch(batch));
  return absl::OkStatus();
}

BatchLoss GrowingNetwork::Loss(const HostBatch& batch, const HostPass& pass) const {
  if (on_batch != nullptr && *on_batch) (*on_batch)();
  return host->Loss(batch, pass, [this](size_t at, const at::Tensor& h) { return at == point ? slot->Forward(h) : h; });
}

absl::StatusOr<EpochTraining> TrainEpoch(const GrowingNetwork& network, absl::Span<const HostBatch> batches,
                                         const EpochOptions& options) {
  RETURN_IF_ERROR(CheckBatches(*network.host, batches));
  EpochTraining result;
  for (const HostBatch& batch : batches) {
    const uint64_t number = options.first_batch + static_cast<uint64_t>(result.batches);
    const BatchLoss loss =
        network.Loss(batch, {.training = true, .dropout_seed = DropoutSeedOf(options.episode, number)});
    const BatchGradients gradients = GradientsOf(loss.mean, options);
    network.slot->RecordIsolation();
    if (&batch == &batches.back()) Summarise(gradients, options, network.slot, &result);
    options.host_sgd->Step(gradients.host);
    if (options.seed_sgd != nullptr) options.seed_sgd->Step(gradients.seed);
    result.loss_sum += ValueOf(loss.mean);
    result.correct += static_cast<double>(loss.correct);
    result.total += loss.total;
    ++result.batches;
  }
  return result;
}

absl::StatusOr<HostEvaluation> EvaluateNetwork(const GrowingNetwork& network, absl::Span<const HostBatch> batches) {
  RETURN_IF_ERROR(CheckBatches(*network.host, batches));
  const at::NoGradGuard no_gradients;
  HostEvaluation result;
  double loss_sum = 0;
  for (const HostBatch& batch : batches) {
    const BatchLoss loss = network.Loss(batch, {});
    loss_sum += ValueOf(loss.mean);
    result.correct += static_cast<double>(loss.correct);
    result.total += loss.total;
    ++result.batches;
  }
  if (result.batches > 0) result.mean_loss = loss_sum / static_cast<double>(result.batches);
  if (result.total > 0) result.accuracy = 100.0 * result.correct / static_cast<double>(result.total);
  return result;
}

}  // namespace reprise::models
