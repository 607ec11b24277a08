// Times the product's sampling as its peers' programs time theirs: random weights, fixed lengths, no end tokens. Prints
// one line of JSON: completion tokens a second, the median over the rounds, prompts and draws included.
// compare_llama.py runs it beside llama.cpp on the same shapes.
//
//   generate_rate SHAPE float32|bf16 COMPLETIONS THREADS ROUNDS

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/decode/random_weights.h"
#include "benchmarks/decode/shapes.h"
#include "kernels/isa/isa.h"
#include "rl/rollout/generate.h"

namespace reprise {
namespace {

constexpr int64_t kLength = 64, kPromptLength = 16, kGeneration = 8;
constexpr int kWarmUpRounds = 2;

// Rounds of a single completion begin with one token: they time decoding alone.
double TokensPerSecond(const models::Decoder& decoder, int64_t completions, int threads, int rounds) {
  const int64_t generations = completions % kGeneration == 0 ? kGeneration : 1;
  const std::vector<int32_t> prompt(static_cast<size_t>(completions == 1 ? 1 : kPromptLength), 5);
  std::vector<rl::Prompt> prompts;
  for (int64_t p = 0; p < completions / generations; ++p) prompts.push_back({prompt, static_cast<uint64_t>(p)});
  rl::GenerateOptions options;
  options.num_generations = generations;
  options.max_completion_length = kLength;
  ThreadPool pool(threads);
  rl::GenerateMemory memory;
  std::vector<double> rates;
  for (int round = 0; round < kWarmUpRounds + rounds; ++round) {
    options.step = static_cast<uint64_t>(round);
    const auto start = std::chrono::steady_clock::now();
    rl::Generate(decoder, prompts, options, pool, &memory);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (round >= kWarmUpRounds) rates.push_back(static_cast<double>(completions * kLength) / seconds.count());
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: generate_rate SHAPE float32|bf16 COMPLETIONS THREADS ROUNDS\n");
    return 64;
  }
  const absl::Status status = reprise::kernels::InitializeIsa();
  if (!status.ok()) {
    std::fprintf(stderr, "generate_rate: %s\n", std::string(status.message()).c_str());
    return 70;
  }
  reprise::models::DecoderConfig config = reprise::benchmarks::ShapeOf(argv[1]);
  config.bf16_weights = std::string(argv[2]) == "bf16";
  const auto weights = reprise::benchmarks::RandomWeights::Create(config);
  const double rate = reprise::TokensPerSecond(weights->decoder(), std::atoll(argv[3]), std::atoi(argv[4]),
                                               std::max(1, std::atoi(argv[5])));
  std::printf("{\"what\": \"reprise_generate\", \"tokens_per_second\": %.2f}\n", rate);
  return 0;
}
