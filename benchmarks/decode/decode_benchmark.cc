// Times decoding one token of each of several sequences, relative to this machine's limits of memory and arithmetic.
//   bazel run -c opt //benchmarks/decode:decode_benchmark -- --benchmark_filter=micro
// olmoe_2 is two layers of OLMoE-1B-7B with its whole vocabulary; olmoe is the whole model, takes 14 GB, and runs in
// bf16 only.

#include <memory>
#include <string>
#include <utility>

#include "benchmark/benchmark.h"
#include "benchmarks/decode/decode_loop.h"
#include "benchmarks/decode/random_weights.h"
#include "benchmarks/decode/shapes.h"
#include "benchmarks/kernels/rate.h"
#include "kernels/isa/isa.h"

namespace reprise::benchmarks {
namespace {

// Returns a decoder that consecutive benchmarks of the same shape and type share, because large weights take long to
// create.
const models::Decoder& SharedDecoder(const std::string& shape, bool bf16) {
  static std::pair<std::string, bool> made;
  static std::unique_ptr<RandomWeights> weights;
  if (weights == nullptr || made != std::pair(shape, bf16)) {
    weights.reset();  // frees the memory first
    models::DecoderConfig config = NamedShape(shape);
    config.bf16_weights = bf16;
    weights = RandomWeights::Create(config);
    made = {shape, bf16};
  }
  return weights->decoder();
}

void Decode(::benchmark::State& state, const std::string& shape, bool bf16) {
  const absl::Status status = kernels::InitializeIsa();
  if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  const int64_t sequences = state.range(0);
  const models::Decoder& decoder = SharedDecoder(shape, bf16);
  DecodeLoop loop(decoder, sequences, /*prompt=*/16, /*length=*/64);
  const DecodeWork work = EstimateWork(decoder.config, sequences);
  ReportRoofline(state, {work.operations, work.bytes}, [&] { loop.Step(); });
  state.counters["tokens/s"] = static_cast<double>(sequences) / (state.counters["us"] * 1e-6);
}

void Register() {
  for (const std::string shape : {"nano", "micro", "olmoe_2", "olmoe"}) {
    for (const bool bf16 : {false, true}) {
      if (shape == "olmoe" && !bf16) continue;
      auto* const benchmark =
          ::benchmark::RegisterBenchmark(("BM_Decode/" + shape + (bf16 ? "/bf16" : "/float32")).c_str(),
                                         [shape, bf16](::benchmark::State& state) { Decode(state, shape, bf16); });
      benchmark->ArgName("sequences")->Arg(1)->Arg(4)->Arg(16)->Arg(64)->Arg(512)->UseManualTime()->MinTime(0.5);
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
