#include "models/generation/generate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "models/decoder/load_balancing.h"
#include "models/generation/ask_pool.h"
#include "models/generation/decode_worker.h"

namespace reprise::models {
namespace {

absl::StatusOr<GenerateResult> Run(const Decoder& decoder, absl::Span<const Prompt> prompts,
                                   const GenerateOptions& options, Partner* partner, ThreadPool& pool,
                                   GenerateMemory* memory) {
  GenerateMemory own;
  if (memory == nullptr) memory = &own;
  GenerateResult result;
  const int64_t completions = static_cast<int64_t>(prompts.size()) * options.num_generations;
  result.completions.resize(static_cast<size_t>(completions));
  result.expert_count_LE = NoExpertCounts(decoder.config);
  if (completions == 0) return result;

  const int64_t weight_bytes = decoder.layout.total * (decoder.config.bf16_weights ? 2 : 4);
  const bool together = pool.threads() > 1 && weight_bytes > options.own_cache_bytes;
  // A worker without slots leaves its share to the others; slots beyond the number of completions would stay empty.
  const int64_t workers = together ? 1 : std::min<int64_t>(pool.threads(), static_cast<int64_t>(prompts.size()));
  const int64_t slots = options.slots == 0 ? completions : std::min(options.slots, completions);
  WorkerShare shared = {decoder, prompts, options, partner, &result};
  if (partner != nullptr && options.askers > 0) {
    ASSIGN_OR_RETURN(shared.askers, AskPool::Create(options.askers));
  }
  if (static_cast<int64_t>(memory->workers().size()) < workers) memory->workers().resize(static_cast<size_t>(workers));
  std::vector<std::unique_ptr<DecodeWorker>> share(static_cast<size_t>(workers));
  const auto run = [&](int64_t index, const Team& team) {
    const int64_t mine = slots * (index + 1) / workers - slots * index / workers;
    if (mine == 0) return;
    std::unique_ptr<DecodeMemory>& room = memory->workers()[index];
    if (room == nullptr) room = std::make_unique<DecodeMemory>(decoder.config);
    auto worker = std::make_unique<DecodeWorker>(mine, &shared, room.get(), team);
    worker->Run();
    share[index] = std::move(worker);
  };
  if (together) {
    run(0, Team(pool));
  } else {
    const auto look = [&] {
      if (options.is_cancelled()) shared.failed.store(true, std::memory_order_relaxed);
      return shared.failed.load(std::memory_order_relaxed);
    };
    ForEachLooking(
        pool, workers, [&](int64_t index) { run(index, Team()); },
        options.is_cancelled == nullptr ? std::function<bool()>() : look);
  }
  const EpisodeError* first = nullptr;
  for (const auto& worker : share) {
    if (worker == nullptr) continue;
    if (worker->error() && (first == nullptr || worker->error()->episode < first->episode)) first = &*worker->error();
    result.prompt_rows += worker->prompt_rows();
    result.completion_rows += worker->completion_rows();
    result.refills += worker->refills();
    for (size_t i = 0; i < result.expert_count_LE.size(); ++i)
      result.expert_count_LE[i] += worker->expert_count_LE()[i];
  }
  if (first != nullptr) return first->status;
  if (shared.failed.load(std::memory_order_relaxed)) return absl::CancelledError("the episodes were cancelled");
  return result;
}

}  // namespace

GenerateMemory::GenerateMemory() = default;
GenerateMemory::~GenerateMemory() = default;

GenerateResult Generate(const Decoder& decoder, absl::Span<const Prompt> prompts, const GenerateOptions& options,
                        ThreadPool& pool, GenerateMemory* memory) {
  absl::StatusOr<GenerateResult> result = Run(decoder, prompts, options, nullptr, pool, memory);
  CHECK(result.ok());
  return *std::move(result);
}

absl::StatusOr<GenerateResult> GenerateEpisodes(const Decoder& decoder, absl::Span<const Prompt> prompts,
                                                const GenerateOptions& options, Partner& partner, ThreadPool& pool,
                                                GenerateMemory* memory) {
  return Run(decoder, prompts, options, &partner, pool, memory);
}

}  // namespace reprise::models
