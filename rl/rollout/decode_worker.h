#ifndef RL_ROLLOUT_DECODE_WORKER_H_
#define RL_ROLLOUT_DECODE_WORKER_H_

// One share of Generate: its own slots, caches and decode batches, worked on by one thread or by a team. Groups are
// taken from a counter that all workers share, so that whoever is free works.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/parallel/team.h"
#include "rl/rollout/generate.h"

namespace reprise::rl {

// What the workers of one Generate have in common.
struct WorkerShare {
  std::atomic<int64_t> next_prompt{0};
  std::atomic<bool> failed{false};  // one of them has an error: the others need not go on
};

struct EpisodeError {
  int64_t episode = 0;
  absl::Status status;
};

class DecodeWorker {
 public:
  // `slots` >= 1. `partner`: null for completions of one turn. `shared` is all workers', `result` too: each writes the
  // completions of its own prompts. `team` shares this worker's decoding.
  DecodeWorker(const models::Decoder& decoder, absl::Span<const Prompt> prompts, const GenerateOptions& options,
               Partner* partner, int64_t slots, WorkerShare* shared, GenerateResult* result, const Team& team);

  void Run();

  int64_t prompt_rows() const { return prompt_rows_; }
  int64_t completion_rows() const { return completion_rows_; }
  int64_t refills() const { return refills_; }
  const std::vector<int64_t>& expert_count_E() const { return expert_count_E_; }
  const std::optional<EpisodeError>& error() const { return error_; }

 private:
  // A prompt with completions still to start or to finish.
  struct Group {
    int64_t prompt = 0;
    std::unique_ptr<models::KeyValueCache> cache;
    std::vector<float> first_logits;  // of the prompt's last row, divided by nothing yet
    int64_t started = 0, finished = 0;
  };
  struct Slot {
    Group* group = nullptr;  // null: free
    int64_t sample = 0;
    bool used = false;
    std::unique_ptr<models::KeyValueCache> cache;
  };

  void FillSlots();
  bool OpenGroups(int64_t wanted);
  void Prefill(const std::vector<Group*>& groups);
  void DecodeOneToken();
  void Start(Group* group, Slot* slot);
  // Draws the next token of the slot's completion from logits (destroyed).
  kernels::SampledToken DrawToken(const Slot& slot, float* logits, kernels::SamplingWorkspace* workspace) const;
  // Appends it to the completion. Frees the slot at the end.
  void Append(const kernels::SampledToken& drawn, Slot* slot);
  // Whether the episode goes on, an action of it having ended; then what was said is appended to its tokens.
  bool GoesOn(const Slot& slot, SampledCompletion* completion);
  int64_t EpisodeOf(const Slot& slot) const { return slot.group->prompt * options_.num_generations + slot.sample; }
  SampledCompletion& CompletionOf(const Slot& slot) const {
    return result_->completions[static_cast<size_t>(EpisodeOf(slot))];
  }
  const float* Logits(const std::vector<int64_t>& rows);

  const models::Decoder& decoder_;
  const absl::Span<const Prompt> prompts_;
  const GenerateOptions& options_;
  Partner* const partner_;
  WorkerShare* const shared_;
  GenerateResult* const result_;
  const Team team_;
  models::Activations workspace_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<float> hidden_, logits_;
  std::vector<kernels::SamplingWorkspace> sampling_workspaces_;  // by member of the team
  std::vector<kernels::SampledToken> drawn_;
  int64_t prompt_rows_ = 0, completion_rows_ = 0, refills_ = 0;
  std::vector<int64_t> expert_count_E_;
  std::optional<EpisodeError> error_;
};

}  // namespace reprise::rl

#endif  // RL_ROLLOUT_DECODE_WORKER_H_
