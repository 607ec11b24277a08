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

namespace {

const float* Gather(const Activations& activations, const ScoredRows& rows, int64_t width, Tensor* tensor) {
  float* const hidden_SD = Room(*tensor, rows.rows() * width);
  for (int64_t s = 0; s < rows.rows(); ++s) {
    std::memcpy(hidden_SD + s * width, activations.hidden_TD() + rows.row_S[static_cast<size_t>(s)] * width,
                static_cast<size_t>(width) * sizeof(float));
  }
  return hidden_SD;
}

template <typename T>
void Grow(std::vector<T>& buffer, int64_t count) {
  buffer.resize(std::max(buffer.size(), static_cast<size_t>(count)));
}

// Scratch memory of the current thread.
float* RoomOfThread(int64_t floats) {
  thread_local Tensor room;
  return Room(room, floats);
}

}  // namespace

void ScoreForward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows, float temperature,
                  ScoreBuffers* buffers, const Team& team) {
  const int64_t width = decoder.config.hidden_size, vocabulary = decoder.config.vocab_size;
  const float* const hidden_SD = Gather(activations, rows, width, &buffers->hidden_SD);
  buffers->temperature = temperature;
  Grow(buffers->logprob, rows.targets());
  Grow(buffers->statistics_S, rows.rows());
  TeamRows(team, rows.rows(), [&](int64_t begin, int64_t end) {
    kernels::LmHeadForward(end - begin, width, vocabulary, hidden_SD + begin * width, width, decoder.weights.lm_head(),
                           temperature, {rows.first_target.data() + begin, rows.target.data()}, buffers->logprob.data(),
                           buffers->statistics_S.data() + begin,
                           RoomOfThread(kernels::LmHeadScratch(end - begin, vocabulary)));
  });
}

void DivergenceForward(const Decoder& decoder, const Decoder& reference, const Activations& reference_activations,
                       const ScoredRows& rows, ScoreBuffers* buffers, const Team& team) {
  const int64_t width = decoder.config.hidden_size, vocabulary = decoder.config.vocab_size, count = rows.rows();
  const float* const hidden_SD = Gather(reference_activations, rows, width, &buffers->reference_hidden_SD);
  Grow(buffers->reference_statistics_S, count);
  Grow(buffers->divergence_S, count);
  const std::vector<int64_t> no_targets(static_cast<size_t>(count) + 1);
  TeamRows(team, count, [&](int64_t begin, int64_t end) {
    const int64_t part = end - begin;
    const float* const own_SD = buffers->hidden_SD.data<float>().data() + begin * width;
    const float* const other_SD = hidden_SD + begin * width;
    kernels::RowStatistics* const statistics_S = buffers->reference_statistics_S.data() + begin;
    kernels::LmHeadForward(part, width, vocabulary, other_SD, width, reference.weights.lm_head(), buffers->temperature,
                           {no_targets.data(), nullptr}, nullptr, statistics_S,
                           RoomOfThread(kernels::LmHeadScratch(part, vocabulary)));
    kernels::HeadDivergence(
        part, width, vocabulary, {own_SD, width, decoder.weights.lm_head(), buffers->statistics_S.data() + begin},
        {other_SD, width, reference.weights.lm_head(), statistics_S}, buffers->temperature,
        buffers->divergence_S.data() + begin, RoomOfThread(kernels::HeadDivergenceScratch(part, vocabulary)));
  });
}

void ScoreBackward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows,
                   const ScoreGradients& gradients, ScoreBuffers* buffers, float* dhidden_TD,
                   const GradientTarget& target, const Team& team) {
  ShardGradient& gradient = *target.gradient;
  const int64_t width = decoder.config.hidden_size, vocabulary = decoder.config.vocab_size;
  const ParameterSpec& head = decoder.layout.specs[static_cast<size_t>(decoder.layout.lm_head)];
  float* const dhidden_SD = Room(buffers->dhidden_SD, rows.rows() * width);
  const bool has_divergence = gradients.reference != nullptr;
  float* const scratch =
      Room(buffers->scratch, kernels::LmHeadBackwardScratch(rows.rows(), width, vocabulary, has_divergence));
  kernels::DivergenceGradient of_divergence;
  if (has_divergence) {
    of_divergence = {{buffers->reference_hidden_SD.data<float>().data(), width, gradients.reference->weights.lm_head(),
                      buffers->reference_statistics_S.data()},
                     buffers->divergence_S.data(),
                     gradients.ddivergence_S};
  }
  kernels::LmHeadBackward(rows.rows(), width, vocabulary, buffers->hidden_SD.data<float>().data(), width,
                          decoder.weights.lm_head(), decoder.weights.lm_head_transposed(), buffers->temperature,
                          {rows.first_target.data(), rows.target.data()}, gradients.dlogprob, gradients.dentropy_S,
                          buffers->statistics_S.data(), dhidden_SD, width, gradient.scored_rows, target.last,
                          gradient.TotalOf(head), gradient.OpenOf(head), scratch,
                          has_divergence ? &of_divergence : nullptr, team);
  std::fill_n(dhidden_TD, activations.rows() * width, 0.0f);
  for (int64_t s = 0; s < rows.rows(); ++s) {
    std::memcpy(dhidden_TD + rows.row_S[static_cast<size_t>(s)] * width, dhidden_SD + s * width,
                static_cast<size_t>(width) * sizeof(float));
  }
  gradient.scored_rows += rows.rows();
  if (target.last && target.sink != nullptr && !decoder.config.tie_word_embeddings) {
    target.sink->Finished(decoder.layout.lm_head, gradient);
  }
}

}  // namespace reprise::models
