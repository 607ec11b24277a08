#include "models/quiet_star/continuation.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/parallel/team.h"
#include "core/status/check.h"
#include "kernels/lm_head/row_statistics.h"
#include "kernels/products/products.h"
#include "models/decoder/inference.h"

namespace reprise::models {
namespace {

using kernels::Rows;

// A text that is being continued.
struct Running {
  std::vector<int32_t> tokens;  // the text so far
  uint64_t index = 0;
  std::unique_ptr<KeyValueCache> text, thought;
  Continuation* result = nullptr;
};

class Continuer {
 public:
  Continuer(const ThoughtNetwork& network, const ContinuationOptions& options, ThreadPool& pool)
      : network_(network),
        decoder_(network.decoder),
        options_(options),
        pool_(pool),
        workspace_(decoder_.config, /*training=*/false) {
    CHECK_EQ(options.thoughts.num_thoughts, 1);
    is_excluded_V_.resize(static_cast<size_t>(decoder_.config.vocab_size));
    for (const int32_t token : options.thoughts.forbidden) is_excluded_V_[token] = 1;
    for (const int32_t token : {options.thoughts.delimiters.start, options.thoughts.delimiters.end}) {
      is_excluded_V_[token] = 1;
    }
  }

  std::vector<Continuation> Run(absl::Span<const ThinkingText> texts) {
    std::vector<Continuation> results(texts.size());
    std::vector<Running> running(texts.size());
    std::vector<Running*> active;
    for (size_t i = 0; i < texts.size(); ++i) {
      Running& text = running[i];
      text.tokens.assign(texts[i].tokens.begin(), texts[i].tokens.end());
      text.index = texts[i].index;
      text.text = std::make_unique<KeyValueCache>(decoder_.config,
                                                  static_cast<int64_t>(texts[i].tokens.size()) + options_.max_tokens);
      text.thought = std::make_unique<KeyValueCache>(decoder_.config, options_.thoughts.max_length + 2);
      text.result = &results[i];
      active.push_back(&text);
    }
    for (int64_t t = 0; t < options_.max_tokens && !active.empty(); ++t) {
      ContinueByOne(active);
      std::erase_if(active, [&](const Running* text) {
        const std::vector<int32_t>& ends = options_.end_tokens;
        return std::ranges::find(ends, text->tokens.back()) != ends.end();
      });
    }
    return results;
  }

 private:
  // Runs rows that continue caches, and copies the hidden state of each run's last row to hidden_ND.
  void Forward(const CachedBatch& batch, const Rows& hidden_ND) {
    ForwardCached(decoder_, batch, &workspace_, nullptr, Team(pool_));
    for (size_t n = 0; n < batch.runs.size(); ++n) {
      const CachedRun& run = batch.runs[n];
      const float* const last = workspace_.hidden_TD()[run.begin + run.rows - 1];
      std::copy_n(last, hidden_ND.width, hidden_ND[static_cast<int64_t>(n)]);
    }
  }

  static void AppendRows(absl::Span<const int32_t> tokens, int64_t position, const CachedRun& run, CachedBatch* batch) {
    batch->runs.push_back(run);
    batch->runs.back().begin = batch->rows.rows();
    batch->runs.back().rows = static_cast<int64_t>(tokens.size());
    for (const int32_t token : tokens) {
      batch->rows.token_T.push_back(token);
      batch->rows.position_T.push_back(static_cast<int32_t>(position++));
    }
  }

  void ContinueByOne(const std::vector<Running*>& active) {
    const int64_t count = static_cast<int64_t>(active.size()), width = decoder_.config.hidden_size;
    std::vector<float> base_ND(static_cast<size_t>(count * width));
    const Rows base = {base_ND.data(), count, width};
    CachedBatch batch;
    for (Running* const text : active) {
      const int64_t cached = text->text->count();
      AppendRows(absl::MakeConstSpan(text->tokens).subspan(static_cast<size_t>(cached)), cached,
                 {.own = text->text.get()}, &batch);
    }
    Forward(batch, base);
    if (!options_.thinks) return Choose(active, base);
    std::vector<float> thought_ND(base_ND.size()), mixed_ND(base_ND.size()), weight_N(static_cast<size_t>(count));
    const Rows mixed = {mixed_ND.data(), count, width};
    Think(active, {thought_ND.data(), count, width});
    std::vector<int64_t> first_N(static_cast<size_t>(count) + 1);
    std::iota(first_N.begin(), first_N.end(), int64_t{0});
    network_.heads.Mix({base, {thought_ND.data(), count, width}, first_N}, mixed, weight_N.data(), &buffers_);
    Choose(active, mixed);
  }

  // Samples a thought about each text and computes the hidden state of its end token.
  void Think(const std::vector<Running*>& active, const Rows& thought_ND) {
    std::vector<ThinkingText> texts;
    for (const Running* const text : active) {
      texts.push_back({text->tokens, text->index, {static_cast<int64_t>(text->tokens.size()) - 1}});
    }
    const SampledThoughts sampled = SampleThoughts(decoder_, texts, options_.thoughts, pool_, &memory_);
    CachedBatch batch;
    for (size_t i = 0; i < active.size(); ++i) {
      const Thought& thought = sampled.by_text[i][0].thought;
      active[i]->result->thoughts.push_back(thought);
      std::vector<int32_t> tokens = {options_.thoughts.delimiters.start};
      tokens.insert(tokens.end(), thought.tokens.begin(), thought.tokens.end());
      tokens.push_back(options_.thoughts.delimiters.end);
      active[i]->thought->Prepare(options_.thoughts.max_length + 2);
      AppendRows(tokens, thought.position + 1, {.own = active[i]->thought.get(), .prefix = active[i]->text.get()},
                 &batch);
    }
    Forward(batch, thought_ND);
  }

  // Appends to each text the most probable token after its hidden state.
  void Choose(const std::vector<Running*>& active, const Rows& hidden_ND) {
    const int64_t vocabulary = decoder_.config.vocab_size;
    std::vector<float> logits_NV(static_cast<size_t>(hidden_ND.rows * vocabulary));
    const Rows logits = {logits_NV.data(), hidden_ND.rows, vocabulary};
    kernels::Product(hidden_ND, decoder_.weights.lm_head(), logits);
    for (int64_t n = 0; n < logits.rows; ++n) {
      const float* const z = logits[n];
      int32_t best = -1;
      for (int32_t v = 0; v < static_cast<int32_t>(vocabulary); ++v) {
        if (is_excluded_V_[v] == 0 && (best < 0 || z[v] > z[best])) best = v;
      }
      CHECK_GE(best, 0);
      Running& text = *active[n];
      text.tokens.push_back(best);
      text.result->tokens.push_back(best);
      text.result->logprobs.push_back(kernels::LogProbability(kernels::StatisticsOfRow(vocabulary, z), z[best]));
    }
  }

  const ThoughtNetwork& network_;
  const Decoder& decoder_;
  const ContinuationOptions& options_;
  ThreadPool& pool_;
  Activations workspace_;
  ThoughtMemory memory_;
  ThoughtHeadBuffers buffers_;
  std::vector<uint8_t> is_excluded_V_;
};

}  // namespace

std::vector<Continuation> ContinueTexts(const ThoughtNetwork& network, absl::Span<const ThinkingText> texts,
                                        const ContinuationOptions& options, ThreadPool& pool) {
  return Continuer(network, options, pool).Run(texts);
}

}  // namespace reprise::models
