// Times sampling thoughts at all positions of a text at once, against one position after the other: with caches, where
// each position computes the text before it and decodes its own thoughts, with the same bits; and as the published
// prototype does it, without caches, where each token computes all tokens before it again.
//   bazel run -c opt //benchmarks/decode:thoughts_benchmark -- --benchmark_filter=micro

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/decode/random_weights.h"
#include "benchmarks/decode/shapes.h"
#include "core/parallel/thread_pool.h"
#include "core/random/draw.h"
#include "core/status/check.h"
#include "kernels/isa/isa.h"
#include "kernels/products/products.h"
#include "kernels/sampling/sampling.h"
#include "models/decoder/inference.h"
#include "models/quiet_star/memory.h"
#include "models/quiet_star/thought_sampler.h"

namespace reprise::benchmarks {
namespace {

constexpr int64_t kPositions = 64, kLength = 12;

double MeasureSeconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Thinker {
 public:
  Thinker(const models::Decoder& decoder, int64_t num_thoughts) : decoder_(decoder), pool_(1) {
    const int32_t last = static_cast<int32_t>(decoder.config.vocab_size) - 1;
    for (int64_t s = 0; s < kPositions; ++s) tokens_.push_back(static_cast<int32_t>(3 + 7 * s % 90));
    options_.num_thoughts = num_thoughts;
    options_.min_length = options_.max_length = kLength;
    options_.delimiters = {last, last - 1};
    options_.sampling = {.temperature = 3.0f, .top_p = 0.9f};
  }

  std::vector<models::SampledThought> AllAtOnce() {
    models::ThinkingText text = {tokens_};
    for (int64_t s = 0; s < kPositions; ++s) text.positions.push_back(s);
    return models::SampleThoughts(decoder_, {&text, 1}, options_, pool_, &memory_).by_text[0];
  }

  std::vector<models::SampledThought> OneByOne() {
    std::vector<models::SampledThought> thoughts;
    for (int64_t s = 0; s < kPositions; ++s) {
      const models::ThinkingText text = {absl::MakeConstSpan(tokens_).first(static_cast<size_t>(s + 1)), 0, {s}};
      auto of_position = models::SampleThoughts(decoder_, {&text, 1}, options_, pool_, &memory_).by_text[0];
      thoughts.insert(thoughts.end(), of_position.begin(), of_position.end());
    }
    return thoughts;
  }

  // Draws as many tokens as there are in all thoughts, each after computing everything before it.
  void OneByOneWithoutCaches() {
    models::Activations workspace(decoder_.config, /*training=*/false);
    models::KeyValueCache cache(decoder_.config);
    std::vector<float> logits(static_cast<size_t>(decoder_.config.vocab_size));
    kernels::SamplingWorkspace scratch;
    for (int64_t s = 0; s < kPositions; ++s) {
      for (int64_t k = 0; k < options_.num_thoughts; ++k) {
        std::vector<int32_t> context(tokens_.begin(), tokens_.begin() + s + 1);
        context.push_back(options_.delimiters.start);
        for (int64_t t = 0; t < kLength; ++t) {
          const int64_t rows = static_cast<int64_t>(context.size());
          models::CachedBatch batch;
          batch.rows.token_T = context;
          for (int64_t i = 0; i < rows; ++i) batch.rows.position_T.push_back(static_cast<int32_t>(i));
          cache.Prepare(rows);
          batch.runs.push_back({0, rows, &cache});
          models::ForwardCached(decoder_, batch, &workspace, nullptr);
          kernels::Product(workspace.hidden_TD().Slice({rows - 1, rows}), decoder_.weights.lm_head(),
                           {logits.data(), 1, decoder_.config.vocab_size});
          const double uniform = DrawUniform(1, Purpose::kTest, {.turn = static_cast<uint64_t>(s)});
          context.push_back(
              kernels::SampleToken(decoder_.config.vocab_size, logits.data(), options_.sampling, uniform, &scratch)
                  .token);
        }
      }
    }
  }

 private:
  const models::Decoder& decoder_;
  ThreadPool pool_;
  std::vector<int32_t> tokens_;
  models::ThoughtSampling options_;
  models::ThoughtMemory memory_;
};

void Think(::benchmark::State& state, const std::string& shape, bool with_caches) {
  const absl::Status status = kernels::InitializeIsa();
  if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  const int64_t num_thoughts = state.range(0);
  const std::unique_ptr<RandomWeights> weights = RandomWeights::Create(NamedShape(shape));
  Thinker thinker(weights->decoder(), num_thoughts);
  if (with_caches) {
    const auto together = thinker.AllAtOnce(), alone = thinker.OneByOne();
    for (size_t i = 0; i < together.size(); ++i) CHECK(together[i].thought == alone[i].thought);
  }
  double all_at_once = 0, one_by_one = 0;
  for (auto _ : state) {  // side by side
    const double seconds = MeasureSeconds([&] { thinker.AllAtOnce(); });
    state.SetIterationTime(seconds);
    all_at_once += seconds;
    one_by_one +=
        MeasureSeconds([&] { with_caches ? static_cast<void>(thinker.OneByOne()) : thinker.OneByOneWithoutCaches(); });
  }
  const double rounds = static_cast<double>(state.iterations());
  state.counters["us"] = 1e6 * all_at_once / rounds;
  state.counters["us one by one"] = 1e6 * one_by_one / rounds;
  state.counters["speedup"] = one_by_one / all_at_once;
  const models::ThoughtSizes sizes = {1, kPositions, kPositions, num_thoughts, kLength, 1};
  state.counters["MB"] = 1e-6 * static_cast<double>(models::ThoughtSamplingBytes(weights->decoder().config, sizes, 0));
}

void Register() {
  for (const std::string shape : {"nano", "micro", "olmoe_2"}) {
    for (const bool with_caches : {true, false}) {
      auto* const benchmark = ::benchmark::RegisterBenchmark(
          ((with_caches ? "BM_Thoughts/" : "BM_ThoughtsAgainstNoCaches/") + shape).c_str(),
          [shape, with_caches](::benchmark::State& state) { Think(state, shape, with_caches); });
      benchmark->ArgName("thoughts")->Arg(1)->Arg(4)->UseManualTime()->MinTime(0.5);
    }
  }
}

}  // namespace
}  // namespace reprise::benchmarks

int main(int argc, char** argv) {
  reprise::benchmarks::Register();
  ::benchmark::Initialize(&argc, argv);
  if (::benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  ::benchmark::RunSpecifiedBenchmarks();
  return 0;
}
