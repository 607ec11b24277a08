// Times Reprise's sampling as its peers' programs time theirs: random weights, fixed lengths, no end tokens. Prints one
// line of JSON: completion tokens per second, the median over the rounds, including prompts and draws.
// compare.py compares it with llama.cpp on the same weights.
//
//   generate_rate SHAPE float32|bf16 COMPLETIONS THREADS ROUNDS
//   generate_rate weights SHAPE FILE       writes the weights' block and prints the offset of each parameter in it

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "benchmarks/decode/random_weights.h"
#include "benchmarks/decode/shapes.h"
#include "kernels/isa/isa.h"
#include "kernels/testing/kernel_testing.h"
#include "models/decoder/parameters.h"
#include "models/generation/generate.h"

namespace reprise {
namespace {

constexpr int64_t kLength = 64, kPromptLength = 16, kGeneration = 8;
constexpr int kWarmUpRounds = 2;

// Rounds of a single completion have a prompt of one token, so that they time only decoding.
double TokensPerSecond(const models::Decoder& decoder, int64_t completions, int threads, int rounds) {
  const int64_t generations = completions % kGeneration == 0 ? kGeneration : 1;
  const int64_t length = completions == 1 ? 1 : kPromptLength, count = completions / generations;
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count * length; ++i) {
    const int64_t token = testing::RandomBelow(decoder.config.vocab_size, 5, static_cast<uint64_t>(i));
    tokens.push_back(static_cast<int32_t>(token));
  }
  std::vector<models::Prompt> prompts;
  for (int64_t p = 0; p < count; ++p) {
    const absl::Span<const int32_t> all = tokens;
    prompts.push_back(
        {all.subspan(static_cast<size_t>(p * length), static_cast<size_t>(length)), static_cast<uint64_t>(p)});
  }
  models::GenerateOptions options;
  options.num_generations = generations;
  options.max_completion_length = kLength;
  ThreadPool pool(threads);
  models::GenerateMemory memory;
  std::vector<double> rates;
  for (int round = 0; round < kWarmUpRounds + rounds; ++round) {
    options.step = static_cast<uint64_t>(round);
    const auto start = std::chrono::steady_clock::now();
    models::Generate(decoder, prompts, options, pool, &memory);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (round >= kWarmUpRounds) rates.push_back(static_cast<double>(completions * kLength) / seconds.count());
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

int WriteWeights(const models::DecoderConfig& config, const char* path) {
  const std::vector<float> block = benchmarks::BlockOfWeights();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(block.size() * sizeof(float)));
  if (!file.flush()) {
    std::fprintf(stderr, "generate_rate: cannot write %s\n", path);
    return 74;
  }
  const models::DecoderLayout layout = models::MakeDecoderLayout(config);
  for (const ParameterSpec& spec : layout.specs) {
    const double factor = &spec == &layout.specs[layout.embedding] ? benchmarks::kEmbeddingScale : 1;
    std::printf("{\"name\": \"%s\", \"offset\": %lld, \"size\": %lld, \"factor\": %g}\n", spec.name.c_str(),
                static_cast<long long>(spec.offset), static_cast<long long>(spec.size), factor);
  }
  return 0;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "weights") {
    return reprise::WriteWeights(reprise::benchmarks::NamedShape(argv[2]), argv[3]);
  }
  if (argc != 6) {
    std::fprintf(stderr,
                 "usage: generate_rate SHAPE float32|bf16 COMPLETIONS THREADS ROUNDS\n"
                 "       generate_rate weights SHAPE FILE\n");
    return 64;
  }
  const absl::Status status = reprise::kernels::InitializeIsa();
  if (!status.ok()) {
    std::fprintf(stderr, "generate_rate: %s\n", std::string(status.message()).c_str());
    return 70;
  }
  reprise::models::DecoderConfig config = reprise::benchmarks::NamedShape(argv[1]);
  config.bf16_weights = std::string(argv[2]) == "bf16";
  const auto weights = reprise::benchmarks::RandomWeights::Create(config);
  const double rate = reprise::TokensPerSecond(weights->decoder(), std::atoll(argv[3]), std::atoi(argv[4]),
                                               std::max(1, std::atoi(argv[5])));
  std::printf("{\"what\": \"reprise_generate\", \"tokens_per_second\": %.2f}\n", rate);
  return 0;
}
