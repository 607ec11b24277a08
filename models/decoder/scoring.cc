#include "models/decoder/scoring.h"

#include <algorithm>

#include "core/tensor/room.h"
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

kernels::Rows Gather(const Activations& activations, const ScoredRows& rows, Tensor* tensor) {
  const kernels::Rows& hidden_TD = activations.hidden_TD();
  const kernels::Rows hidden_SD = RoomForRows(*tensor, rows.rows(), hidden_TD.width);
  for (int64_t s = 0; s < rows.rows(); ++s) {
    std::copy_n(hidden_TD[rows.row_S[s]], hidden_TD.width, hidden_SD[s]);
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
  const int64_t vocabulary = decoder.config.vocab_size;
  const kernels::ConstRows hidden_SD = Gather(activations, rows, &buffers->hidden_SD);
  buffers->temperature = temperature;
  Grow(buffers->logprob, rows.targets());
  Grow(buffers->statistics_S, rows.rows());
  TeamRows(team, rows.rows(), [&](int64_t begin, int64_t end) {
    kernels::LmHeadForward({hidden_SD.Slice({begin, end}),
                            vocabulary,
                            decoder.weights.lm_head(),
                            temperature,
                            {rows.first_target.data() + begin, rows.target.data()}},
                           buffers->logprob.data(), buffers->statistics_S.data() + begin,
                           RoomOfThread(kernels::LmHeadScratch(end - begin, vocabulary)));
  });
}

void DivergenceForward(const Decoder& decoder, const Decoder& reference, const Activations& reference_activations,
                       const ScoredRows& rows, ScoreBuffers* buffers, const Team& team) {
  const int64_t vocabulary = decoder.config.vocab_size, count = rows.rows();
  const kernels::ConstRows other_SD = Gather(reference_activations, rows, &buffers->reference_hidden_SD);
  const kernels::ConstRows own_SD = {buffers->hidden_SD.data<float>().data(), count, other_SD.width};
  Grow(buffers->reference_statistics_S, count);
  Grow(buffers->divergence_S, count);
  const std::vector<int64_t> no_targets(static_cast<size_t>(count) + 1);
  TeamRows(team, count, [&](int64_t begin, int64_t end) {
    const kernels::Range part = {begin, end};
    kernels::RowStatistics* const statistics_S = buffers->reference_statistics_S.data() + begin;
    kernels::LmHeadForward({other_SD.Slice(part),
                            vocabulary,
                            reference.weights.lm_head(),
                            buffers->temperature,
                            {no_targets.data(), nullptr}},
                           nullptr, statistics_S, RoomOfThread(kernels::LmHeadScratch(part.size(), vocabulary)));
    kernels::HeadDivergence(
        vocabulary, {own_SD.Slice(part), decoder.weights.lm_head(), buffers->statistics_S.data() + begin},
        {other_SD.Slice(part), reference.weights.lm_head(), statistics_S}, buffers->temperature,
        buffers->divergence_S.data() + begin, RoomOfThread(kernels::HeadDivergenceScratch(part.size(), vocabulary)));
  });
}

void ScoreBackward(const Decoder& decoder, const Activations& activations, const ScoredRows& rows,
                   const ScoreGradients& gradients, ScoreBuffers* buffers, float* dhidden_TD,
                   const GradientTarget& target, const Team& team) {
  const int64_t width = decoder.config.hidden_size, vocabulary = decoder.config.vocab_size, count = rows.rows();
  const kernels::Rows dhidden_SD = RoomForRows(buffers->dhidden_SD, count, width);
  const bool has_divergence = gradients.reference != nullptr;
  float* const scratch =
      Room(buffers->scratch, kernels::LmHeadBackwardScratch(count, width, vocabulary, has_divergence));
  kernels::DivergenceGradient divergence;
  if (has_divergence) {
    divergence = {{{buffers->reference_hidden_SD.data<float>().data(), count, width},
                   gradients.reference->weights.lm_head(),
                   buffers->reference_statistics_S.data()},
                  buffers->divergence_S.data(),
                  gradients.ddivergence_S};
  }
  kernels::LmHeadBackward(
      {{buffers->hidden_SD.data<float>().data(), count, width},
       vocabulary,
       decoder.weights.lm_head(),
       buffers->temperature,
       {rows.first_target.data(), rows.target.data()},
       decoder.weights.lm_head_transposed()},
      buffers->statistics_S.data(), {gradients.dlogprob, gradients.dentropy_S, has_divergence ? &divergence : nullptr},
      dhidden_SD, target.ChainsOf(decoder.layout, decoder.layout.lm_head, target.gradient->scored_rows), scratch, team);
  std::fill_n(dhidden_TD, activations.rows() * width, 0.0f);
  for (int64_t s = 0; s < count; ++s) {
    std::copy_n(dhidden_SD[s], width, dhidden_TD + rows.row_S[s] * width);
  }
  target.gradient->scored_rows += count;
  if (!decoder.config.tie_word_embeddings) target.Finish(decoder.layout.lm_head);
}

}  // namespace reprise::models
