// Times one thread's share of a training step in parts: a shard's forward pass with its scores, its whole gradient, and
// the packing of weights (//benchmarks/kernels:update_benchmark times the update). "peak" counts only matrix products
// (docs/performance.md), as if nothing else were computed.
//   bazel run -c opt //benchmarks/train_step:train_step_benchmark

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/kernels/rate.h"
#include "core/parallel/thread_pool.h"
#include "models/decoder/testing/testing.h"
#include "rl/policy/decoder/shard_gradient.h"
#include "rl/policy/decoder/shard_scores.h"
#include "rl/workloads/completions/kind/completions_cost.h"

namespace reprise::benchmarks {
namespace {

constexpr int64_t kPrompts = 2, kGenerations = 8, kPromptTokens = 16, kCompletionTokens = 64;
constexpr rl::SequenceShape kShape = {kPrompts, kGenerations, kPromptTokens, kCompletionTokens};

models::DecoderConfig ConfigOf(int64_t width, int64_t layers, int64_t experts, int64_t per_token) {
  models::DecoderConfig config;
  config.vocab_size = width == 64 ? 128 : 512;
  config.hidden_size = config.intermediate_size = width;
  config.num_hidden_layers = layers;
  config.num_attention_heads = config.num_key_value_heads = width / 32 < 4 ? 4 : width / 32;
  config.num_experts = experts;
  config.num_experts_per_tok = per_token;
  config.max_position_embeddings = 256;
  return config;
}

// A model and two groups of completions of full length.
struct Share {
  explicit Share(const ::benchmark::State& state)
      : config(ConfigOf(state.range(0), state.range(1), state.range(2), state.range(3))),
        model(models::testing::RandomModel(config, 1)),
        workspace(config) {
    tokens.reserve(static_cast<size_t>(kPrompts * (kGenerations + 1)));
    for (int64_t p = 0; p < kPrompts; ++p) {
      tokens.push_back(models::testing::RandomTokens(config, static_cast<uint64_t>(tokens.size()), kPromptTokens));
      rl::TrainingGroup group = {tokens.back(), {}};
      for (int64_t g = 0; g < kGenerations; ++g) {
        tokens.push_back(
            models::testing::RandomTokens(config, static_cast<uint64_t>(tokens.size()), kCompletionTokens));
        group.completion_G.push_back(tokens.back());
      }
      groups.push_back(std::move(group));
    }
  }

  models::DecoderConfig config;
  std::unique_ptr<models::Model> model;
  rl::ShardWorkspace workspace;
  std::vector<std::vector<int32_t>> tokens;
  std::vector<rl::TrainingGroup> groups;
};

void Shapes(::benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"width", "layers", "experts", "top"})->UseManualTime()->MinTime(0.3);
  benchmark->Args({64, 2, 8, 2})->Args({256, 1, 16, 4})->Args({256, 4, 16, 4});
}

void BM_Forward(::benchmark::State& state) {
  Share share(state);
  const double operations = rl::EstimateOperations(share.config, kShape, 1, false).forward;
  ReportRate(state, operations, [&] {
    rl::ScoreShard(
        share.model->decoder(), share.groups, 0, 1.0f,
        [](int64_t, int64_t, absl::Span<const float>, absl::Span<const float>) {}, &share.workspace);
  });
}
BENCHMARK(BM_Forward)->Apply(Shapes);

void BM_ForwardAndBackward(::benchmark::State& state) {
  Share share(state);
  const rl::StepOperations operations = rl::EstimateOperations(share.config, kShape, 1, false);
  std::vector<float> total(share.model->parameters().size());
  const rl::CompletionLoss loss = [](int64_t, int64_t, const rl::DecisionScores&,
                                     const rl::DecisionGradients& gradients) {
    std::fill(gradients.dlogprob_T.begin(), gradients.dlogprob_T.end(), -1.0f / kCompletionTokens);
    return absl::OkStatus();
  };
  bool is_ok = true;
  ReportRate(state, operations.forward + operations.backward, [&] {
    models::ShardGradient gradient;
    models::StartShard(share.config, share.model->layout(), total.data(), nullptr, &gradient);
    is_ok &= rl::AccumulateShard(share.model->decoder(), share.groups, {}, loss, &share.workspace, &gradient).ok();
  });
  if (!is_ok) state.SkipWithError("the gradient failed");
}
BENCHMARK(BM_ForwardAndBackward)->Apply(Shapes);

// Times both packed copies of all matrices: reads each weight once and writes it twice.
void BM_Refresh(::benchmark::State& state) {
  Share share(state);
  ThreadPool pool(1);
  ReportBandwidth(state, 12.0 * static_cast<double>(share.model->parameters().size()),
                  [&] { share.model->Refresh(pool); });
}
BENCHMARK(BM_Refresh)->Apply(Shapes);

}  // namespace
}  // namespace reprise::benchmarks
