#include "models/generation/decode_worker.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/status/check.h"
#include "kernels/products/products.h"
#include "models/decoder/load_balancing.h"
#include "models/generation/draw_token.h"
#include "models/lora/dropout.h"

namespace reprise::models {

DecodeWorker::DecodeWorker(int64_t slots, WorkerShare* shared, DecodeMemory* memory, const Team& team)
    : decoder_(shared->decoder),
      prompts_(shared->prompts),
      options_(shared->options),
      partner_(shared->partner),
      shared_(shared),
      result_(shared->result),
      team_(team),
      memory_(*memory),
      slots_(static_cast<size_t>(slots)),
      expert_count_LE_(NoExpertCounts(decoder_.config)) {
  while (memory_.caches.size() < slots_.size())
    memory_.caches.push_back(std::make_unique<KeyValueCache>(decoder_.config));
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i].cache = memory_.caches[i].get();
  memory_.sampling.resize(std::max(memory_.sampling.size(), static_cast<size_t>(team.threads())));
}

void DecodeWorker::Run() {
  while (!HasFailed()) {
    FillSlots();
    if (std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.group == nullptr; })) return;
    TakeAnswers();
    if (CanDecode()) DecodeOneToken();
  }
  while (waiting_ > 0) TakeAnswers();
}

bool DecodeWorker::CanDecode() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.group != nullptr && !slot.waits; });
}

// Starts completions in free slots: first those of open groups; then it opens new groups, several prompts in one batch.
void DecodeWorker::FillSlots() {
  while (!HasFailed()) {
    std::vector<Slot*> free;
    for (Slot& slot : slots_) {
      if (slot.group == nullptr) free.push_back(&slot);
    }
    size_t next = 0;
    for (const auto& group : groups_) {
      while (next < free.size() && group->started < options_.num_generations) Start(group.get(), free[next++]);
    }
    CloseGroups();
    // A completion may end with its first token: repeat until every slot is used or nothing is left to start.
    const int64_t still_free =
        std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.group == nullptr; });
    const bool waiting = std::any_of(groups_.begin(), groups_.end(),
                                     [&](const auto& group) { return group->started < options_.num_generations; });
    if (still_free == 0) return;
    if (!waiting && !OpenGroups((still_free + options_.num_generations - 1) / options_.num_generations)) return;
  }
}

void DecodeWorker::CloseGroups() {
  const auto finished = std::stable_partition(
      groups_.begin(), groups_.end(), [&](const auto& group) { return group->finished < options_.num_generations; });
  std::move(finished, groups_.end(), std::back_inserter(memory_.groups));
  groups_.erase(finished, groups_.end());
}

bool DecodeWorker::OpenGroups(int64_t wanted) {
  std::vector<Group*> opened;
  while (static_cast<int64_t>(opened.size()) < wanted) {
    const int64_t prompt = shared_->next_prompt.fetch_add(1, std::memory_order_relaxed);
    if (prompt >= static_cast<int64_t>(prompts_.size())) break;
    if (memory_.groups.empty()) memory_.groups.push_back(std::make_unique<Group>(decoder_.config));
    groups_.push_back(std::move(memory_.groups.back()));
    memory_.groups.pop_back();
    Group* const group = groups_.back().get();
    group->prompt = prompt;
    group->started = group->finished = 0;
    opened.push_back(group);
  }
  if (!opened.empty()) Prefill(opened);
  return !opened.empty();
}

void DecodeWorker::Prefill(const std::vector<Group*>& groups) {
  CachedBatch batch;
  std::vector<int64_t> last_rows;
  for (Group* group : groups) {
    const absl::Span<const int32_t> tokens = prompts_[group->prompt].tokens;
    CHECK(!tokens.empty());
    group->cache.Prepare(static_cast<int64_t>(tokens.size()));
    batch.runs.push_back({batch.rows.rows(), static_cast<int64_t>(tokens.size()), &group->cache, nullptr});
    for (size_t i = 0; i < tokens.size(); ++i) {
      batch.rows.token_T.push_back(tokens[i]);
      batch.rows.position_T.push_back(static_cast<int32_t>(i));
    }
    AppendSeeds(*group, std::nullopt, 0, static_cast<int64_t>(tokens.size()), &batch.rows);
    last_rows.push_back(batch.rows.rows() - 1);
  }
  ForwardCached(decoder_, batch, &memory_.workspace, expert_count_LE_.data(), team_);
  prompt_rows_ += batch.rows.rows();
  const float* const logits = Logits(last_rows);
  for (size_t i = 0; i < groups.size(); ++i) {
    const float* const row = logits + static_cast<int64_t>(i) * decoder_.config.vocab_size;
    groups[i]->first_logits.assign(row, row + decoder_.config.vocab_size);
  }
}

// Appends the seeds of rows at consecutive positions, of a sample or of the prompt, where the model drops inputs.
void DecodeWorker::AppendSeeds(const Group& group, std::optional<int64_t> sample, int64_t position, int64_t rows,
                               models::PackedBatch* batch) const {
  if (!options_.drops) return;
  const models::DropoutPlace place = {.seed = options_.seed,
                                      .step = options_.step,
                                      .prompt = prompts_[group.prompt].index,
                                      .sample = static_cast<uint64_t>(sample.value_or(0)),
                                      .in_prompt = !sample};
  for (int64_t i = 0; i < rows; ++i) batch->dropout_T.push_back(models::DropoutSeedOf(place, position + i));
}

void DecodeWorker::Start(Group* group, Slot* slot) {
  if (slot->used) ++refills_;
  slot->used = true;
  slot->group = group;
  slot->sample = group->started++;
  slot->cache->Prepare(options_.max_completion_length);
  std::copy(group->first_logits.begin(), group->first_logits.end(), memory_.logits.begin());
  Append(DrawToken(*slot, memory_.logits.data(), memory_.sampling.data()), slot);
}

kernels::SampledToken DecodeWorker::DrawToken(const Slot& slot, float* logits,
                                              kernels::SamplingWorkspace* workspace) const {
  const SampledCompletion& completion = CompletionOf(slot);
  DrawAt at = {.step = options_.step,
               .prompt = prompts_[slot.group->prompt].index,
               .sample = static_cast<uint64_t>(slot.sample),
               .turn = 0,
               .token = completion.tokens.size()};
  if (!completion.turn_K.empty()) {
    at.turn = completion.turn_K.size() - 1;
    at.token = static_cast<uint64_t>(completion.turn_K.back().action_tokens);
  }
  const double uniform = options_.sampling.greedy ? 0.0 : DrawUniform(options_.seed, options_.purpose, at);
  const absl::Span<float> row(logits, static_cast<size_t>(decoder_.config.vocab_size));
  return models::DrawToken(options_, static_cast<int64_t>(at.token), uniform, row, workspace);
}

void DecodeWorker::Append(const kernels::SampledToken& drawn, Slot* slot) {
  SampledCompletion& completion = CompletionOf(*slot);
  completion.tokens.push_back(drawn.token);
  completion.logprobs.push_back(drawn.logprob);
  completion.entropies.push_back(drawn.entropy);
  if (options_.reports_behaviour) completion.behaviour_logprobs.push_back(drawn.behaviour_logprob);
  bool complete =
      std::find(options_.end_tokens.begin(), options_.end_tokens.end(), drawn.token) != options_.end_tokens.end();
  bool action_ends = static_cast<int64_t>(completion.tokens.size()) == options_.max_completion_length;
  if (partner_ != nullptr) {
    if (completion.turn_K.empty()) completion.turn_K.emplace_back();
    SampledTurn& turn = completion.turn_K.back();
    ++turn.action_tokens;
    const absl::Span<const int32_t> tokens = completion.tokens;
    complete = complete || partner_->CompletesAction(tokens.last(static_cast<size_t>(turn.action_tokens)));
    turn.complete = complete;
    action_ends = action_ends || turn.action_tokens == options_.max_action_length;
  } else if (options_.is_complete != nullptr) {
    complete = complete || options_.is_complete(completion.tokens);
  }
  completion.terminated = complete;
  if (!complete && !action_ends) return;
  partner_ != nullptr ? EndAction(slot) : End(slot);
}

void DecodeWorker::End(Slot* slot) {
  ++slot->group->finished;
  slot->group = nullptr;
}

void DecodeWorker::EndAction(Slot* slot) {
  const SampledCompletion& completion = CompletionOf(*slot);
  const SampledTurn& turn = completion.turn_K.back();
  const bool is_cut_off =
      !turn.complete && static_cast<int64_t>(completion.tokens.size()) == options_.max_completion_length;
  if (is_cut_off || HasFailed()) return End(slot);
  const auto ask = [this, episode = EpisodeOf(*slot), complete = turn.complete,
                    action = absl::MakeConstSpan(completion.tokens).last(static_cast<size_t>(turn.action_tokens))] {
    return HasFailed() ? absl::CancelledError("cancelled") : partner_->Answer(episode, action, complete);
  };
  if (shared_->askers == nullptr) return Resume(ask(), slot);
  slot->waits = true;
  ++waiting_;
  shared_->askers->Ask([this, slot, ask] {
    Answer answer = ask();
    if (!answer.ok()) shared_->failed.store(true, std::memory_order_relaxed);  // before the next call starts
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_.emplace_back(slot, std::move(answer));
    answered_.notify_one();  // under the lock: the worker may be destroyed once it has the last answer
  });
}

void DecodeWorker::TakeAnswers() {
  if (waiting_ == 0) return;
  std::vector<std::pair<Slot*, Answer>> answers;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    while (answers_.empty() && (HasFailed() || !CanDecode())) {
      answered_.wait_for(lock, std::chrono::milliseconds(50));
      if (options_.is_cancelled != nullptr && options_.is_cancelled()) {
        shared_->failed.store(true, std::memory_order_relaxed);
      }
    }
    answers.swap(answers_);
  }
  for (const auto& [slot, answer] : answers) {
    slot->waits = false;
    --waiting_;
    Resume(answer, slot);
  }
}

void DecodeWorker::Resume(const Answer& answer, Slot* slot) {
  if (!answer.ok()) {
    if (!error_ && !absl::IsCancelled(answer.status())) error_ = {EpisodeOf(*slot), answer.status()};
    shared_->failed.store(true, std::memory_order_relaxed);
    return End(slot);
  }
  SampledCompletion& completion = CompletionOf(*slot);
  const int64_t tokens = static_cast<int64_t>(completion.tokens.size());
  const std::optional<std::vector<int32_t>>& observation = *answer;
  if (!observation) return End(slot);
  const int64_t observed = static_cast<int64_t>(observation->size());
  if (!HasRoom(tokens, observed, options_.max_completion_length)) return End(slot);
  completion.tokens.insert(completion.tokens.end(), observation->begin(), observation->end());
  completion.logprobs.resize(completion.tokens.size());
  completion.entropies.resize(completion.tokens.size());
  if (options_.reports_behaviour) completion.behaviour_logprobs.resize(completion.tokens.size());
  completion.turn_K.push_back({.observation_tokens = observed});
}

// Decodes one token of every episode that does not wait for its partner. Most episodes need one row, that of their last
// token; an episode that has just read an observation also needs the rows of its tokens.
void DecodeWorker::DecodeOneToken() {
  CachedBatch batch;
  std::vector<Slot*> active;
  std::vector<int64_t> rows;
  for (Slot& slot : slots_) {
    if (slot.group == nullptr || slot.waits) continue;
    const std::vector<int32_t>& tokens = CompletionOf(slot).tokens;
    const int64_t cached = slot.cache->count(), fresh = static_cast<int64_t>(tokens.size()) - cached;
    batch.runs.push_back({batch.rows.rows(), fresh, slot.cache, &slot.group->cache});
    for (int64_t i = cached; i < cached + fresh; ++i) {
      batch.rows.token_T.push_back(tokens[i]);
      batch.rows.position_T.push_back(static_cast<int32_t>(slot.group->cache.count() + i));
    }
    AppendSeeds(*slot.group, slot.sample, slot.group->cache.count() + cached, fresh, &batch.rows);
    rows.push_back(batch.rows.rows() - 1);
    active.push_back(&slot);
  }
  ForwardCached(decoder_, batch, &memory_.workspace, expert_count_LE_.data(), team_);
  completion_rows_ += batch.rows.rows();
  Logits(rows);
  memory_.drawn.resize(active.size());
  team_.ForEach(static_cast<int64_t>(active.size()), [&](int64_t i, int member) {
    memory_.drawn[i] =
        DrawToken(*active[i], memory_.logits.data() + i * decoder_.config.vocab_size, &memory_.sampling[member]);
  });
  for (size_t i = 0; i < active.size(); ++i) Append(memory_.drawn[i], active[i]);
}

// Returns the lm-head's outputs for these rows of the workspace; valid until the next completion starts.
const float* DecodeWorker::Logits(const std::vector<int64_t>& rows) {
  const int64_t width = decoder_.config.hidden_size, vocabulary = decoder_.config.vocab_size;
  const int64_t count = static_cast<int64_t>(rows.size());
  const auto grow = [](std::vector<float>& buffer, int64_t floats) {
    if (static_cast<int64_t>(buffer.size()) < floats) buffer.resize(static_cast<size_t>(floats));
    return buffer.data();
  };
  float* const hidden = grow(memory_.hidden, count * width);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(hidden + i * width, memory_.workspace.hidden_TD()[rows[i]], static_cast<size_t>(width) * sizeof(float));
  }
  float* const logits = grow(memory_.logits, count * vocabulary);
  team_.ForRanges(kernels::Panels(vocabulary), 1, [&](int64_t first_panel, int64_t last_panel) {
    kernels::Product({hidden, count, width}, decoder_.weights.lm_head(), {logits, count, vocabulary},
                     {first_panel, last_panel});
  });
  return logits;
}

}  // namespace reprise::models
