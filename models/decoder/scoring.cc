#include "models/decoder/scoring.h"

#include <algorithm>
#include <cstring>

#include "models/decoder/room.h"
#include "models/decoder/team_kernels.h"

namespace reprise::models {

void ScoredRows::Clear() {
  row_S.clear();
  first_target.assign(1, 0);
  target.clear();
}

void ScoredRows::Add(int64_t row, const int32_t* targets, int64_t count) {
  row_S.push_back(row);
  target.insert(target.end(), targets, targets + count);
  first_target.push_back(static_cast<int64_t>(target.size()));
}

void ScoreForward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows, float temperature,
                  ScoreBuffers* buffers, const Team& team) {
  const int64_t width = decoder.config.hidden_size, vocabulary = decoder.config.vocab_size;
  float* const hidden_SD = Room(buffers->hidden_SD, rows.rows() * width);
  for (int64_t s = 0; s < rows.rows(); ++s) {
    std::memcpy(hidden_SD + s * width, activations.hidden_TD() + rows.row_S[static_cast<size_t>(s)] * width,
                static_cast<size_t>(width) * sizeof(float));
  }
  const auto grow = [](auto& buffer, int64_t count) {
    buffer.resize(std::max(buffer.size(), static_cast<size_t>(count)));
  };
  grow(buffers->logprob, rows.targets());
  grow(buffers->statistics_S, rows.rows());
  TeamRows(team, rows.rows(), [&](int64_t begin, int64_t end) {
    thread_local Tensor scratch;
    kernels::LmHeadForward(end - begin, width, vocabulary, hidden_SD + begin * width, width, decoder.weights.lm_head(),
                           temperature, {rows.first_target.data() + begin, rows.target.data()}, buffers->logprob.data(),
                           buffers->statistics_S.data() + begin,
                           Room(scratch, kernels::LmHeadScratch(end - begin, vocabulary)));
  });
}

void ScoreBackward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows, float temperature,
                   const float* dlogprob, const float* dentropy, bool last, ScoreBuffers* buffers, float* dhidden_TD,
                   ShardGradient* gradient, GradientSink* sink, const Team& team) {
  const int64_t width = decoder.config.hidden_size, vocabulary = decoder.config.vocab_size;
  const ParameterSpec& head = decoder.layout.specs[static_cast<size_t>(decoder.layout.lm_head)];
  float* const dhidden_SD = Room(buffers->dhidden_SD, rows.rows() * width);
  float* const scratch = Room(buffers->scratch, kernels::LmHeadBackwardScratch(rows.rows(), width, vocabulary));
  kernels::LmHeadBackward(rows.rows(), width, vocabulary, buffers->hidden_SD.data<float>().data(), width,
                          decoder.weights.lm_head(), decoder.weights.lm_head_transposed(), temperature,
                          {rows.first_target.data(), rows.target.data()}, dlogprob, dentropy,
                          buffers->statistics_S.data(), dhidden_SD, width, gradient->scored_rows, last,
                          gradient->TotalOf(head), gradient->OpenOf(head), scratch, team);
  std::fill_n(dhidden_TD, activations.rows() * width, 0.0f);
  for (int64_t s = 0; s < rows.rows(); ++s) {
    std::memcpy(dhidden_TD + rows.row_S[static_cast<size_t>(s)] * width, dhidden_SD + s * width,
                static_cast<size_t>(width) * sizeof(float));
  }
  gradient->scored_rows += rows.rows();
  if (last && sink != nullptr && !decoder.config.tie_word_embeddings) sink->Finished(decoder.layout.lm_head, *gradient);
}

}  // namespace reprise::models
