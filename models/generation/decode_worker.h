#ifndef MODELS_GENERATION_DECODE_WORKER_H_
#define MODELS_GENERATION_DECODE_WORKER_H_

// One share of Generate: its own slots, caches and decode batches, run by one thread or by a team. Workers take groups
// from a counter that they share, so that no worker is idle while groups are left.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/parallel/team.h"
#include "models/generation/ask_pool.h"
#include "models/generation/generate.h"

namespace reprise::models {

// The memory of a worker, which the next one reuses.
struct DecodeMemory {
  explicit DecodeMemory(const DecoderConfig& config) : workspace(config, /*training=*/false) {}

  // A prompt with completions still to start or to finish.
  struct Group {
    explicit Group(const DecoderConfig& config) : cache(config) {}
    int64_t prompt = 0;
    KeyValueCache cache;
    std::vector<float> first_logits;  // of the prompt's last row, not yet divided by the temperature
    int64_t started = 0, finished = 0;
  };

  Activations workspace;
  std::vector<std::unique_ptr<KeyValueCache>> caches;  // by slot
  std::vector<std::unique_ptr<Group>> groups;          // unused ones
  std::vector<float> hidden, logits;
  std::vector<kernels::SamplingWorkspace> sampling;  // by member of the team
  std::vector<kernels::SampledToken> drawn;
};

// What the workers of one call of Generate share.
struct WorkerShare {
  const Decoder& decoder;
  absl::Span<const Prompt> prompts;
  const GenerateOptions& options;
  Partner* partner;        // null for completions of one turn
  GenerateResult* result;  // each worker writes the completions of its own prompts
  std::atomic<int64_t> next_prompt{0};
  std::atomic<bool> failed{false};            // one of them has an error: the others stop
  std::unique_ptr<AskPool> askers = nullptr;  // null: each worker calls the partner itself
};

struct EpisodeError {
  int64_t episode = 0;
  absl::Status status;
};

class DecodeWorker {
 public:
  // `slots` >= 1. `team` shares this worker's decoding.
  DecodeWorker(int64_t slots, WorkerShare* shared, DecodeMemory* memory, const Team& team);

  void Run();

  int64_t prompt_rows() const { return prompt_rows_; }
  int64_t completion_rows() const { return completion_rows_; }
  int64_t refills() const { return refills_; }
  const std::vector<int64_t>& expert_count_LE() const { return expert_count_LE_; }
  const std::optional<EpisodeError>& error() const { return error_; }

 private:
  using Group = DecodeMemory::Group;
  struct Slot {
    Group* group = nullptr;  // null: free
    int64_t sample = 0;
    bool used = false;
    bool waits = false;  // is waiting for the partner's answer
    KeyValueCache* cache = nullptr;
  };

  void FillSlots();
  void CloseGroups();
  bool OpenGroups(int64_t wanted);
  void Prefill(const std::vector<Group*>& groups);
  void AppendSeeds(const Group& group, std::optional<int64_t> sample, int64_t position, int64_t rows,
                   models::PackedBatch* batch) const;
  void DecodeOneToken();
  void Start(Group* group, Slot* slot);
  // Draws the next token of the slot's completion from logits (overwritten).
  kernels::SampledToken DrawToken(const Slot& slot, float* logits, kernels::SamplingWorkspace* workspace) const;
  // Appends the token to the completion. Frees the slot when the completion ends.
  void Append(const kernels::SampledToken& drawn, Slot* slot);
  // Called when an action has ended: calls the partner, here or on another thread, unless the episode's length
  // truncated the action.
  void EndAction(Slot* slot);
  using Answer = absl::StatusOr<std::optional<std::vector<int32_t>>>;
  // Continues the episode with the observation, or ends it.
  void Resume(const Answer& answer, Slot* slot);
  // Frees the slot.
  void End(Slot* slot);
  // Takes the answers that other threads have received; waits for one if there is nothing else to do.
  void TakeAnswers();
  bool HasFailed() const { return shared_->failed.load(std::memory_order_relaxed); }
  bool CanDecode() const;
  int64_t EpisodeOf(const Slot& slot) const { return slot.group->prompt * options_.num_generations + slot.sample; }
  SampledCompletion& CompletionOf(const Slot& slot) const { return result_->completions[EpisodeOf(slot)]; }
  const float* Logits(const std::vector<int64_t>& rows);

  const Decoder& decoder_;
  const absl::Span<const Prompt> prompts_;
  const GenerateOptions& options_;
  Partner* const partner_;
  WorkerShare* const shared_;
  GenerateResult* const result_;
  const Team team_;
  DecodeMemory& memory_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Group>> groups_;
  int64_t prompt_rows_ = 0, completion_rows_ = 0, refills_ = 0;
  std::vector<int64_t> expert_count_LE_;
  std::optional<EpisodeError> error_;
  int64_t waiting_ = 0;  // number of slots that wait for an answer
  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<std::pair<Slot*, Answer>> answers_;  // received by other threads
};

}  // namespace reprise::models

#endif  // MODELS_GENERATION_DECODE_WORKER_H_
