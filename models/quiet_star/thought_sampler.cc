#include "models/quiet_star/thought_sampler.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/parallel/team.h"
#include "core/status/check.h"
#include "kernels/products/products.h"
#include "models/generation/draw_token.h"

namespace reprise::models {

struct ThoughtSamplerMemory {
  explicit ThoughtSamplerMemory(const DecoderConfig& config) : workspace(config, /*training=*/false) {}

  Activations workspace;
  std::vector<std::unique_ptr<KeyValueCache>> text_caches, thought_caches;
  std::vector<float> hidden, logits;
  std::vector<kernels::SamplingWorkspace> sampling;  // by member of the team
  std::vector<kernels::SampledToken> drawn;
};

ThoughtMemory::ThoughtMemory() = default;
ThoughtMemory::~ThoughtMemory() = default;

namespace {

// Generate's options under which a token of a thought is drawn: delimiters and forbidden tokens are the end tokens that
// it must not draw yet.
GenerateOptions TokenOptions(const ThoughtSampling& options) {
  GenerateOptions of_token;
  of_token.sampling = options.sampling;
  of_token.end_tokens = options.forbidden;
  of_token.end_tokens.push_back(options.delimiters.start);
  of_token.end_tokens.push_back(options.delimiters.end);
  of_token.min_new_tokens = std::numeric_limits<int64_t>::max();
  return of_token;
}

// A thought that is being sampled.
struct Branch {
  const ThinkingText* text = nullptr;
  const KeyValueCache* text_cache = nullptr;
  KeyValueCache* cache = nullptr;
  SampledThought* result = nullptr;
  int64_t length = 0;

  int64_t position() const { return result->thought.position; }
  int64_t drawn() const { return static_cast<int64_t>(result->thought.tokens.size()); }
};

class Sampler {
 public:
  Sampler(const Decoder& decoder, const ThoughtSampling& options, const Team& team, ThoughtSamplerMemory* memory)
      : decoder_(decoder), options_(options), token_options_(TokenOptions(options)), team_(team), memory_(*memory) {
    memory_.sampling.resize(std::max(memory_.sampling.size(), static_cast<size_t>(team.threads())));
  }

  SampledThoughts Run(absl::Span<const ThinkingText> texts) {
    SampledThoughts result;
    std::vector<Branch> branches = ListBranches(texts, &result);
    const size_t all = branches.size(), slots = options_.slots == 0 ? all : static_cast<size_t>(options_.slots);
    for (size_t begin = 0; begin < all; begin += slots) {
      const absl::Span<Branch> now = absl::MakeSpan(branches).subspan(begin, slots);
      result.text_rows += Prefill(now);
      result.thought_rows += Decode(now);
    }
    return result;
  }

 private:
  std::vector<Branch> ListBranches(absl::Span<const ThinkingText> texts, SampledThoughts* result) const {
    std::vector<Branch> branches;
    result->by_text.resize(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const ThinkingText& text = texts[i];
      std::vector<SampledThought>& thoughts = result->by_text[i];
      thoughts.resize(text.positions.size() * static_cast<size_t>(options_.num_thoughts));
      SampledThought* next = thoughts.data();
      for (const int64_t position : text.positions) {
        CHECK(position >= 0 && position < static_cast<int64_t>(text.tokens.size()));
        const int64_t length = ThoughtLength(options_, text.index, position);
        for (int64_t sample = 0; sample < options_.num_thoughts; ++sample, ++next) {
          next->thought.position = position;
          next->sample = sample;
          branches.push_back({.text = &text, .result = next, .length = length});
        }
      }
    }
    return branches;
  }

  // Computes the keys and values of the branches' texts, but for a text that the last call already had. Returns how
  // many rows there are.
  int64_t Prefill(absl::Span<Branch> branches) {
    CachedBatch batch;
    size_t used = 0;
    const ThinkingText* text = nullptr;
    for (Branch& branch : branches) {
      if (branch.text != text) {
        text = branch.text;
        if (used == 0 && text == last_text_) {
          std::swap(memory_.text_caches[0], memory_.text_caches[last_cache_]);
        } else {
          if (used == memory_.text_caches.size()) {
            memory_.text_caches.push_back(std::make_unique<KeyValueCache>(decoder_.config));
          }
          AppendText(*text, memory_.text_caches[used].get(), &batch);
        }
        ++used;
      }
      branch.text_cache = memory_.text_caches[used - 1].get();
    }
    last_text_ = text;
    last_cache_ = used - 1;
    if (batch.rows.rows() > 0) ForwardCached(decoder_, batch, &memory_.workspace, nullptr, team_);
    return batch.rows.rows();
  }

  static void AppendText(const ThinkingText& text, KeyValueCache* cache, CachedBatch* batch) {
    const int64_t rows = text.positions.back() + 1;
    cache->Prepare(rows);
    batch->runs.push_back({batch->rows.rows(), rows, cache});
    for (int64_t i = 0; i < rows; ++i) {
      batch->rows.token_T.push_back(text.tokens[i]);
      batch->rows.position_T.push_back(static_cast<int32_t>(i));
    }
  }

  // Decodes the thoughts together, one token of each at a time. Returns how many rows it computed.
  int64_t Decode(absl::Span<Branch> branches) {
    while (memory_.thought_caches.size() < branches.size()) {
      memory_.thought_caches.push_back(std::make_unique<KeyValueCache>(decoder_.config));
    }
    std::vector<Branch*> active;
    for (size_t i = 0; i < branches.size(); ++i) {
      branches[i].cache = memory_.thought_caches[i].get();
      branches[i].cache->Prepare(branches[i].length);
      active.push_back(&branches[i]);
    }
    int64_t rows = 0;
    while (!active.empty()) {
      rows += static_cast<int64_t>(active.size());
      DecodeOneToken(active);
      std::erase_if(active, [](const Branch* branch) { return branch->drawn() == branch->length; });
    }
    return rows;
  }

  void DecodeOneToken(const std::vector<Branch*>& active) {
    CachedBatch batch;
    for (const Branch* const branch : active) {
      const int64_t drawn = branch->drawn(), seen = branch->position() + 1;
      batch.runs.push_back({batch.rows.rows(), 1, branch->cache, branch->text_cache, seen});
      batch.rows.token_T.push_back(drawn == 0 ? options_.delimiters.start : branch->result->thought.tokens.back());
      batch.rows.position_T.push_back(static_cast<int32_t>(seen + drawn));
    }
    ForwardCached(decoder_, batch, &memory_.workspace, nullptr, team_);
    const int64_t count = static_cast<int64_t>(active.size()), vocabulary = decoder_.config.vocab_size;
    if (static_cast<int64_t>(memory_.logits.size()) < count * vocabulary) {
      memory_.logits.resize(static_cast<size_t>(count * vocabulary));
    }
    memory_.drawn.resize(active.size());
    team_.ForRanges(kernels::Panels(vocabulary), 1, [&](int64_t first, int64_t last) {
      kernels::Product(memory_.workspace.hidden_TD(), decoder_.weights.lm_head(),
                       {memory_.logits.data(), count, vocabulary}, {first, last});
    });
    team_.ForEach(count, [&](int64_t i, int member) {
      memory_.drawn[i] = Draw(*active[i], {memory_.logits.data() + i * vocabulary, static_cast<size_t>(vocabulary)},
                              &memory_.sampling[member]);
    });
    for (size_t i = 0; i < active.size(); ++i) {
      SampledThought& result = *active[i]->result;
      const kernels::SampledToken& drawn = memory_.drawn[i];
      result.thought.tokens.push_back(drawn.token);
      result.logprobs.push_back(drawn.logprob);
      result.entropies.push_back(drawn.entropy);
      result.behaviour_logprobs.push_back(drawn.behaviour_logprob);
    }
  }

  kernels::SampledToken Draw(const Branch& branch, absl::Span<float> logits, kernels::SamplingWorkspace* work) const {
    const DrawAt at = {.step = options_.step,
                       .prompt = branch.text->index,
                       .sample = static_cast<uint64_t>(branch.result->sample),
                       .turn = static_cast<uint64_t>(branch.position()),
                       .token = static_cast<uint64_t>(branch.drawn())};
    const double uniform = options_.sampling.greedy ? 0.0 : DrawUniform(options_.seed, options_.purpose, at);
    return DrawToken(token_options_, 0, uniform, logits, work);
  }

  const Decoder& decoder_;
  const ThoughtSampling& options_;
  const GenerateOptions token_options_;
  const Team team_;
  ThoughtSamplerMemory& memory_;
  const ThinkingText* last_text_ = nullptr;  // of the last Prefill, in text_caches[last_cache_]
  size_t last_cache_ = 0;
};

}  // namespace

int64_t ThoughtLength(const ThoughtSampling& options, uint64_t text_index, int64_t position) {
  CHECK(options.min_length >= 1 && options.min_length <= options.max_length);
  const DrawAt at = {.step = options.step,
                     .prompt = text_index,
                     .sample = options.purpose == kEvaluationThought ? uint64_t{1} : uint64_t{0},
                     .turn = static_cast<uint64_t>(position)};
  const uint64_t lengths = static_cast<uint64_t>(options.max_length - options.min_length + 1);
  return options.min_length + static_cast<int64_t>(DrawBelow(options.seed, kThoughtNoise, at, lengths));
}

SampledThoughts SampleThoughts(const Decoder& decoder, absl::Span<const ThinkingText> texts,
                               const ThoughtSampling& options, ThreadPool& pool, ThoughtMemory* memory) {
  ThoughtMemory own;
  std::unique_ptr<ThoughtSamplerMemory>& room = (memory == nullptr ? own : *memory).room();
  if (room == nullptr) room = std::make_unique<ThoughtSamplerMemory>(decoder.config);
  return Sampler(decoder, options, Team(pool), room.get()).Run(texts);
}

float ThoughtBehaviourLogprob(const ThoughtSampling& options, int32_t token, absl::Span<float> logits,
                              kernels::SamplingWorkspace* workspace) {
  const GenerateOptions of_token = TokenOptions(options);
  if (std::ranges::find(of_token.end_tokens, token) != of_token.end_tokens.end()) {
    return -std::numeric_limits<float>::infinity();
  }
  return BehaviourLogprob(of_token, 0, token, logits, workspace);
}

}  // namespace reprise::models
