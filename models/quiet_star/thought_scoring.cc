#include "models/quiet_star/thought_scoring.h"

#include <algorithm>
#include <numeric>

#include "core/tensor/room.h"
#include "kernels/lm_head/lm_head.h"
#include "kernels/rows/elementwise.h"
#include "models/decoder/room.h"
#include "models/decoder/team_kernels.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::Rows;

ConstRows RowsOf(const Tensor& tensor, int64_t rows, int64_t width) {
  return {rows == 0 ? nullptr : tensor.data<float>().data(), rows, width};
}

void GatherRow(const ConstRows& from, int64_t row, float* to) { std::copy_n(from[row], from.width, to); }

// Scratch memory of the current thread.
float* RoomOfThread(int64_t floats) {
  thread_local Tensor room;
  return Room(room, floats);
}

kernels::LmHeadOperands OperandsOf(const Decoder& decoder, const ThoughtRows& rows, const ThoughtScoreBuffers& buffers,
                                   const ConstRows& hidden_RD) {
  return {hidden_RD,
          decoder.config.vocab_size,
          decoder.weights.lm_head(),
          1.0f,
          {buffers.first_target_R.data(), rows.target_R.data()},
          decoder.weights.lm_head_transposed(),
          rows.temperature_R.data()};
}

// Gathers the hidden states of all scored rows, and mixes those that are mixed.
Rows GatherAndMix(const ThoughtNetwork& network, const ThoughtRows& rows, const ThoughtStates& states,
                  ThoughtScoreBuffers* buffers) {
  const ConstRows hidden_TD = states.batch.hidden_TD();
  const ConstRows text_SD = states.outside == nullptr ? hidden_TD : ConstRows(states.outside->hidden_TD());
  const int64_t width = hidden_TD.width, mixed = static_cast<int64_t>(rows.scored_X.size());
  const Rows hidden_RD = RoomForRows(buffers->hidden_RD, rows.scored(), width);
  for (int64_t r = 0; r < rows.scored(); ++r) GatherRow(hidden_TD, rows.row_R[static_cast<size_t>(r)], hidden_RD[r]);
  const Rows base_XD = RoomForRows(buffers->base_XD, mixed, width),
             thought_XD = RoomForRows(buffers->thought_XD, mixed, width),
             mixed_XD = RoomForRows(buffers->mixed_XD, mixed, width);
  for (int64_t x = 0; x < mixed; ++x) {
    GatherRow(text_SD, rows.text_row_X[static_cast<size_t>(x)], base_XD[x]);
    GatherRow(hidden_RD, rows.scored_X[static_cast<size_t>(x)], thought_XD[x]);
  }
  buffers->weight_X.resize(static_cast<size_t>(mixed));
  network.heads.Mix(base_XD, thought_XD, mixed_XD, buffers->weight_X.data(), &buffers->heads);
  for (int64_t x = 0; x < mixed; ++x) GatherRow(mixed_XD, x, hidden_RD[rows.scored_X[static_cast<size_t>(x)]]);
  return hidden_RD;
}

void ComputeValues(const ThoughtNetwork& network, const ThoughtRows& rows, const Activations& activations,
                   ThoughtScoreBuffers* buffers) {
  const int64_t count = static_cast<int64_t>(rows.value_row_M.size()), width = network.heads.width();
  const Rows hidden_MD = RoomForRows(buffers->value_hidden_MD, count, width);
  for (int64_t m = 0; m < count; ++m) {
    GatherRow(activations.hidden_TD(), rows.value_row_M[static_cast<size_t>(m)], hidden_MD[m]);
  }
  buffers->value_M.resize(static_cast<size_t>(count));
  network.heads.Values(hidden_MD, buffers->value_M.data(), &buffers->heads);
}

std::vector<int64_t> ThoughtTokenRows(const ThoughtRows& rows) {
  std::vector<int64_t> token_rows;
  for (int64_t r = 0; r < rows.scored(); ++r) {
    if (rows.predicts_R[static_cast<size_t>(r)] == Predicts::kThought) token_rows.push_back(r);
  }
  return token_rows;
}

}  // namespace

void ScoreRows(const ThoughtNetwork& network, const ThoughtRows& rows, const ThoughtStates& states,
               ThoughtScoreBuffers* buffers, const Team& team) {
  const Rows hidden_RD = GatherAndMix(network, rows, states, buffers);
  const size_t count = static_cast<size_t>(rows.scored());
  buffers->logprob_R.resize(count);
  buffers->statistics_R.resize(count);
  buffers->first_target_R.resize(count + 1);
  std::iota(buffers->first_target_R.begin(), buffers->first_target_R.end(), int64_t{0});
  const kernels::LmHeadOperands all = OperandsOf(network.decoder, rows, *buffers, hidden_RD);
  TeamRows(team, rows.scored(), [&](int64_t begin, int64_t end) {
    kernels::LmHeadOperands part = all;
    part.hidden = all.hidden.Slice({begin, end});
    part.targets.first_target += begin;
    part.temperature_R += begin;
    kernels::LmHeadForward(part, buffers->logprob_R.data(), buffers->statistics_R.data() + begin,
                           RoomOfThread(kernels::LmHeadScratch(end - begin, all.vocabulary)));
  });
  if (network.heads.has_values()) ComputeValues(network, rows, states.batch, buffers);
}

void KeepReference(const ThoughtRows& rows, const Activations& reference, ThoughtScoreBuffers* buffers) {
  const ConstRows hidden_TD = reference.hidden_TD();
  const Rows kept_RD = RoomForRows(buffers->reference_RD, rows.scored(), hidden_TD.width);
  std::fill_n(kept_RD.data, rows.scored() * hidden_TD.width, 0.0f);
  for (const int64_t r : ThoughtTokenRows(rows)) GatherRow(hidden_TD, rows.row_R[static_cast<size_t>(r)], kept_RD[r]);
}

void ScoreDivergences(const ThoughtNetwork& network, const Decoder& reference, const ThoughtRows& rows,
                      float temperature, ThoughtScoreBuffers* buffers, const Team& team) {
  const std::vector<int64_t> token_rows = ThoughtTokenRows(rows);
  const int64_t count = static_cast<int64_t>(token_rows.size()), width = network.heads.width();
  const int64_t vocabulary = network.decoder.config.vocab_size;
  buffers->reference_statistics_R.assign(static_cast<size_t>(rows.scored()), {});
  buffers->divergence_R.assign(static_cast<size_t>(rows.scored()), 0.0f);
  // The rows of tokens of thoughts, own and the reference's.
  std::vector<float> own_ND(static_cast<size_t>(count * width)), other_ND(own_ND.size()),
      divergence_N(static_cast<size_t>(count));
  std::vector<kernels::RowStatistics> own_N(static_cast<size_t>(count)), other_N(own_N.size());
  for (int64_t n = 0; n < count; ++n) {
    const int64_t r = token_rows[static_cast<size_t>(n)];
    GatherRow(RowsOf(buffers->hidden_RD, rows.scored(), width), r, own_ND.data() + n * width);
    GatherRow(RowsOf(buffers->reference_RD, rows.scored(), width), r, other_ND.data() + n * width);
    own_N[static_cast<size_t>(n)] = buffers->statistics_R[static_cast<size_t>(r)];
  }
  const std::vector<int64_t> no_targets(static_cast<size_t>(count) + 1);
  TeamRows(team, count, [&](int64_t begin, int64_t end) {
    const kernels::Range part = {begin, end};
    const ConstRows own = ConstRows{own_ND.data(), count, width}.Slice(part),
                    other = ConstRows{other_ND.data(), count, width}.Slice(part);
    kernels::LmHeadForward({other, vocabulary, reference.weights.lm_head(), temperature, {no_targets.data(), nullptr}},
                           nullptr, other_N.data() + begin,
                           RoomOfThread(kernels::LmHeadScratch(part.size(), vocabulary)));
    kernels::HeadDivergence(vocabulary, {own, network.decoder.weights.lm_head(), own_N.data() + begin},
                            {other, reference.weights.lm_head(), other_N.data() + begin}, temperature,
                            divergence_N.data() + begin,
                            RoomOfThread(kernels::HeadDivergenceScratch(part.size(), vocabulary)));
  });
  for (size_t n = 0; n < token_rows.size(); ++n) {
    const size_t r = static_cast<size_t>(token_rows[n]);
    buffers->reference_statistics_R[r] = other_N[n];
    buffers->divergence_R[r] = divergence_N[n];
  }
}

void AppendScores(const ThoughtRows& rows, size_t part, bool with_divergences, const ThoughtScoreBuffers& buffers,
                  ThoughtScores* scores) {
  const auto begin_x = std::ranges::lower_bound(rows.scored_X, rows.first_scored_P[part]);
  size_t x = static_cast<size_t>(begin_x - rows.scored_X.begin());
  for (size_t r = static_cast<size_t>(rows.first_scored_P[part]);
       r < static_cast<size_t>(rows.first_scored_P[part + 1]); ++r) {
    const float logprob = buffers.logprob_R[r];
    const kernels::RowStatistics& statistics = buffers.statistics_R[r];
    // The most probable token's logit is the greatest: its log-probability is (max - max) - log_sum.
    const uint8_t is_best = logprob == 0.0f - statistics.log_sum ? 1 : 0;
    switch (rows.predicts_R[r]) {
      case Predicts::kThought:
        scores->logprob_T.push_back(logprob);
        scores->entropy_T.push_back(statistics.entropy);
        if (with_divergences) scores->divergence_T.push_back(buffers.divergence_R[r]);
        break;
      case Predicts::kMixed:
        scores->mixed_logprob_A.push_back(logprob);
        scores->mixed_entropy_A.push_back(statistics.entropy);
        scores->mixed_correct_A.push_back(is_best);
        scores->weight_A.push_back(buffers.weight_X[x++]);
        break;
      case Predicts::kText:
        scores->base_logprob_S.push_back(logprob);
        scores->base_entropy_S.push_back(statistics.entropy);
        scores->base_correct_S.push_back(is_best);
        break;
    }
  }
  for (int64_t m = rows.first_value_P[part]; m < rows.first_value_P[part + 1] && !buffers.value_M.empty(); ++m) {
    scores->value_M.push_back(buffers.value_M[static_cast<size_t>(m)]);
  }
}

void ClearGradients(const ThoughtScores& scores, ThoughtGradients* gradients) {
  gradients->dlogprob_T.assign(scores.logprob_T.size(), 0.0f);
  gradients->dentropy_T.assign(scores.entropy_T.size(), 0.0f);
  gradients->ddivergence_T.assign(scores.divergence_T.size(), 0.0f);
  gradients->dmixed_logprob_A.assign(scores.mixed_logprob_A.size(), 0.0f);
  gradients->dmixed_entropy_A.assign(scores.mixed_entropy_A.size(), 0.0f);
  gradients->dbase_logprob_S.assign(scores.base_logprob_S.size(), 0.0f);
  gradients->dbase_entropy_S.assign(scores.base_entropy_S.size(), 0.0f);
  gradients->dvalue_M.assign(scores.value_M.size(), 0.0f);
}

void AppendGradients(const ThoughtRows& rows, size_t part, GradientCursor* cursor, RowGradients* gradients) {
  const ThoughtGradients& of = *cursor->gradients;
  for (size_t r = static_cast<size_t>(rows.first_scored_P[part]);
       r < static_cast<size_t>(rows.first_scored_P[part + 1]); ++r) {
    float divergence = 0;
    switch (rows.predicts_R[r]) {
      case Predicts::kThought:
        gradients->dlogprob_R.push_back(of.dlogprob_T[cursor->t]);
        gradients->dentropy_R.push_back(of.dentropy_T[cursor->t]);
        if (!of.ddivergence_T.empty()) divergence = of.ddivergence_T[cursor->t];
        ++cursor->t;
        break;
      case Predicts::kMixed:
        gradients->dlogprob_R.push_back(of.dmixed_logprob_A[cursor->a]);
        gradients->dentropy_R.push_back(of.dmixed_entropy_A[cursor->a]);
        ++cursor->a;
        break;
      case Predicts::kText:
        gradients->dlogprob_R.push_back(of.dbase_logprob_S[cursor->s]);
        gradients->dentropy_R.push_back(of.dbase_entropy_S[cursor->s]);
        ++cursor->s;
        break;
    }
    gradients->ddivergence_R.push_back(divergence);
  }
  // A text's values are in the one batch that has the text.
  if (rows.first_value_P[part] < rows.first_value_P[part + 1]) {
    gradients->dvalue_M.insert(gradients->dvalue_M.end(), of.dvalue_M.begin(), of.dvalue_M.end());
  }
}

namespace {

void MixedBackward(const ThoughtNetwork& network, const ThoughtRows& rows, const Rows& dhidden_RD,
                   const ScoresTarget& target, ThoughtScoreBuffers* buffers) {
  const int64_t width = network.heads.width(), mixed = static_cast<int64_t>(rows.scored_X.size());
  const Rows dmixed_XD = RoomForRows(buffers->mixed_XD, mixed, width),
             dbase_XD = RoomForRows(buffers->dbase_XD, mixed, width),
             dthought_XD = RoomForRows(buffers->dthought_XD, mixed, width);
  for (int64_t x = 0; x < mixed; ++x) GatherRow(dhidden_RD, rows.scored_X[static_cast<size_t>(x)], dmixed_XD[x]);
  const ShardGradient& gradient = *target.parameters.gradient;
  network.heads.MixBackward(
      RowsOf(buffers->base_XD, mixed, width), RowsOf(buffers->thought_XD, mixed, width), dmixed_XD,
      {gradient.total, gradient.open, target.progress->mixed_rows, target.parameters.last}, dbase_XD, dthought_XD,
      &buffers->heads);
  target.progress->mixed_rows += mixed;
  float* const dtext_SD = target.dtext_SD == nullptr ? target.dhidden_TD : target.dtext_SD;
  for (int64_t x = 0; x < mixed; ++x) {
    const size_t at = static_cast<size_t>(x);
    float* const dtext = dtext_SD + rows.text_row_X[at] * width;
    kernels::Add(width, dtext, dbase_XD[x], dtext);
    GatherRow(dthought_XD, x, target.dhidden_TD + rows.row_R[static_cast<size_t>(rows.scored_X[at])] * width);
  }
}

void ValuesBackward(const ThoughtNetwork& network, const ThoughtRows& rows, const RowGradients& gradients,
                    const ScoresTarget& target, ThoughtScoreBuffers* buffers) {
  const int64_t width = network.heads.width(), count = static_cast<int64_t>(rows.value_row_M.size());
  const bool trains = network.heads.shape().values_train_decoder;
  const Rows dhidden_MD = {trains && count > 0 ? Room(buffers->dvalue_hidden_MD, count * width) : nullptr, count, width};
  const ShardGradient& gradient = *target.parameters.gradient;
  network.heads.ValuesBackward(RowsOf(buffers->value_hidden_MD, count, width), gradients.dvalue_M.data(),
                               {gradient.total, gradient.open, target.progress->values, target.parameters.last},
                               dhidden_MD, &buffers->heads);
  target.progress->values += count;
  for (int64_t m = 0; m < count && dhidden_MD.data != nullptr; ++m) {
    float* const dtext = target.dhidden_TD + rows.value_row_M[static_cast<size_t>(m)] * width;
    kernels::Add(width, dtext, dhidden_MD[m], dtext);
  }
}

}  // namespace

void ScoresBackward(const ThoughtNetwork& network, const Decoder* reference, const ThoughtRows& rows,
                    const RowGradients& gradients, const ScoresTarget& target, ThoughtScoreBuffers* buffers,
                    const Team& team) {
  const Decoder& decoder = network.decoder;
  const int64_t width = network.heads.width(), count = rows.scored();
  const GradientTarget& parameters = target.parameters;
  const Rows dhidden_RD = RoomForRows(buffers->dhidden_RD, count, width);
  const kernels::DivergenceGradient divergence = {
      {RowsOf(buffers->reference_RD, reference == nullptr ? 0 : count, width),
       reference == nullptr ? kernels::PackedMatrix() : reference->weights.lm_head(),
       buffers->reference_statistics_R.data()},
      buffers->divergence_R.data(),
      gradients.ddivergence_R.data()};
  float* const scratch =
      Room(buffers->scratch,
           kernels::LmHeadBackwardScratch(count, width, decoder.config.vocab_size, reference != nullptr));
  kernels::LmHeadBackward(
      OperandsOf(decoder, rows, *buffers, RowsOf(buffers->hidden_RD, count, width)), buffers->statistics_R.data(),
      {gradients.dlogprob_R.data(), gradients.dentropy_R.data(), reference == nullptr ? nullptr : &divergence},
      dhidden_RD, parameters.ChainsOf(decoder.layout, decoder.layout.lm_head, parameters.gradient->scored_rows), scratch,
      team);
  parameters.gradient->scored_rows += count;
  if (!decoder.config.tie_word_embeddings) parameters.Finish(decoder.layout.lm_head);

  MixedBackward(network, rows, dhidden_RD, target, buffers);
  for (int64_t r = 0; r < count; ++r) {
    const size_t at = static_cast<size_t>(r);
    float* const dhidden = target.dhidden_TD + rows.row_R[at] * width;
    if (rows.predicts_R[at] == Predicts::kThought) GatherRow(dhidden_RD, r, dhidden);
    if (rows.predicts_R[at] == Predicts::kText) kernels::Add(width, dhidden, dhidden_RD[r], dhidden);
  }
  if (network.heads.has_values()) ValuesBackward(network, rows, gradients, target, buffers);
  for (int spec = static_cast<int>(decoder.layout.specs.size()); spec-- > network.heads.first_spec();) {
    parameters.Finish(spec);
  }
}

}  // namespace reprise::models
