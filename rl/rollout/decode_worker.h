#ifndef RL_ROLLOUT_DECODE_WORKER_H_
#define RL_ROLLOUT_DECODE_WORKER_H_

// One share of Generate: its own slots, caches and decode batches, worked on by one thread or by a team. Groups are
// taken from a counter that all workers share, so that whoever is free works.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/parallel/team.h"
#include "rl/rollout/generate.h"

namespace reprise::rl {

// What a worker leaves for the next one: memory alone.
struct DecodeMemory {
  explicit DecodeMemory(const models::DecoderConfig& config) : workspace(config, /*training=*/false) {}

  // A prompt with completions still to start or to finish.
  struct Group {
    explicit Group(const models::DecoderConfig& config) : cache(config) {}
    int64_t prompt = 0;
    models::KeyValueCache cache;
    std::vector<float> first_logits;  // of the prompt's last row, divided by nothing yet
    int64_t started = 0, finished = 0;
  };

  models::Activations workspace;
  std::vector<std::unique_ptr<models::KeyValueCache>> caches;  // by slot
  std::vector<std::unique_ptr<Group>> groups;                  // free ones
  std::vector<float> hidden, logits;
  std::vector<kernels::SamplingWorkspace> sampling;  // by member of the team
  std::vector<kernels::SampledToken> drawn;
};

class DecodeWorker {
 public:
  // `slots` >= 1. `next_prompt` is shared by all workers; `result` too: each writes the completions of its own prompts.
  // `team` shares this worker's decoding.
  DecodeWorker(const models::Decoder& decoder, absl::Span<const Prompt> prompts, const GenerateOptions& options,
               int64_t slots, std::atomic<int64_t>* next_prompt, DecodeMemory* memory, GenerateResult* result,
               const Team& team);

  void Run();

  int64_t prompt_rows() const { return prompt_rows_; }
  int64_t completion_rows() const { return completion_rows_; }
  int64_t refills() const { return refills_; }
  const std::vector<int64_t>& expert_count_E() const { return expert_count_E_; }

 private:
  using Group = DecodeMemory::Group;
  struct Slot {
    Group* group = nullptr;  // null: free
    int64_t sample = 0;
    bool used = false;
    models::KeyValueCache* cache = nullptr;
  };

  void FillSlots();
  void CloseGroups();
  bool OpenGroups(int64_t wanted);
  void Prefill(const std::vector<Group*>& groups);
  void DecodeOneToken();
  void Start(Group* group, Slot* slot);
  // Draws the next token of the slot's completion from logits (destroyed).
  kernels::SampledToken DrawToken(const Slot& slot, float* logits, kernels::SamplingWorkspace* workspace) const;
  // Appends it to the completion. Frees the slot at the end.
  void Append(const kernels::SampledToken& drawn, Slot* slot);
  SampledCompletion& CompletionOf(const Slot& slot) const;
  const float* Logits(const std::vector<int64_t>& rows);

  const models::Decoder& decoder_;
  const absl::Span<const Prompt> prompts_;
  const GenerateOptions& options_;
  std::atomic<int64_t>* const next_prompt_;
  GenerateResult* const result_;
  const Team team_;
  DecodeMemory& memory_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Group>> groups_;
  int64_t prompt_rows_ = 0, completion_rows_ = 0, refills_ = 0;
  std::vector<int64_t> expert_count_E_;
};

}  // namespace reprise::rl

#endif  // RL_ROLLOUT_DECODE_WORKER_H_
