#include "models/quiet_star/thought_scoring.h"

#include <algorithm>
#include <numeric>

#include "core/random/draw.h"
#include "core/tensor/room.h"
#include "kernels/lm_head/lm_head.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/mean_rows.h"
#include "models/decoder/room.h"
#include "models/decoder/team_kernels.h"
#include "models/quiet_star/thought_purposes.h"

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
          rows.temperature_R.data(),
          decoder.layout.lm_head < 0 ? decoder.config.first_new_row() : 0};
}

// The factors by which probabilities of the attention mixing head are kept or dropped; none are: empty.
std::vector<float> DropoutFactors(const ThoughtHeads& heads, const ThoughtPassOptions& options,
                                  const ThoughtRows& rows) {
  const double dropout = heads.shape().dropout;
  if (!options.dropout || dropout == 0) return {};
  constexpr uint64_t kFirstSample = 16;  // of the draws; other uses of the purpose have smaller ones
  const float kept = static_cast<float>(1.0 / (1.0 - dropout));
  std::vector<float> factor_YH;
  for (DrawAt at : rows.draw_Y) {
    at.step = options.dropout->step;
    at.sample += kFirstSample;
    const uint64_t first = at.token * static_cast<uint64_t>(heads.attention_heads());
    for (int64_t head = 0; head < heads.attention_heads(); ++head) {
      at.token = first + static_cast<uint64_t>(head);
      factor_YH.push_back(DrawUniform(options.dropout->seed, kThoughtNoise, at) < dropout ? 0.0f : kept);
    }
  }
  return factor_YH;
}

// Computes how coherent the thoughts are.
void ScoreCoherence(const CoherenceScorer& scorer, const ThoughtRows& rows, const ConstRows& hidden_TD,
                    const ConstRows& text_SD, ThoughtScoreBuffers* buffers) {
  const int64_t count = static_cast<int64_t>(rows.thought_K.size()), width = hidden_TD.width;
  const Rows text_KD = RoomForRows(buffers->text_KD, count, width),
             mean_KD = RoomForRows(buffers->mean_KD, count, width);
  for (int64_t k = 0; k < count; ++k) {
    const ThoughtPlace& place = rows.thought_K[k];
    GatherRow(text_SD, place.text_row, text_KD[k]);
    kernels::MeanOfRows(hidden_TD.Slice({place.first_token, place.first_token + place.tokens}), mean_KD[k]);
  }
  buffers->coherence_K.resize(static_cast<size_t>(count));
  scorer.Forward(text_KD, mean_KD, buffers->coherence_K.data(), &buffers->heads.coherence);
  for (const int64_t k : rows.thought_Y) buffers->coherence_Y.push_back(buffers->coherence_K[k]);
}

ThoughtSets SetsOf(const ThoughtNetwork& network, const ThoughtRows& rows, const ThoughtScoreBuffers& buffers) {
  const int64_t width = network.heads.width();
  return {RowsOf(buffers.base_XD, static_cast<int64_t>(rows.scored_X.size()), width),
          RowsOf(buffers.thought_YD, static_cast<int64_t>(rows.row_Y.size()), width), rows.first_Y,
          buffers.coherence_Y.empty() ? nullptr : buffers.coherence_Y.data(),
          buffers.factor_YH.empty() ? nullptr : buffers.factor_YH.data()};
}

// Gathers the hidden states of all scored rows, and mixes those that are mixed.
Rows GatherAndMix(const ThoughtNetwork& network, const ThoughtPassOptions& options, const ThoughtRows& rows,
                  const ThoughtStates& states, ThoughtScoreBuffers* buffers) {
  const ConstRows hidden_TD = states.batch.hidden_TD();
  const ConstRows text_SD = states.outside == nullptr ? hidden_TD : ConstRows(states.outside->hidden_TD());
  const int64_t width = hidden_TD.width, sites = static_cast<int64_t>(rows.scored_X.size());
  const Rows hidden_RD = RoomForRows(buffers->hidden_RD, rows.scored(), width);
  for (int64_t r = 0; r < rows.scored(); ++r) {
    const size_t at = static_cast<size_t>(r);
    if (rows.predicts_R[at] != Predicts::kMixed) GatherRow(hidden_TD, rows.row_R[at], hidden_RD[r]);
  }
  const Rows base_XD = RoomForRows(buffers->base_XD, sites, width),
             thought_YD = RoomForRows(buffers->thought_YD, static_cast<int64_t>(rows.row_Y.size()), width),
             mixed_XD = RoomForRows(buffers->mixed_XD, sites, width);
  for (int64_t x = 0; x < sites; ++x) GatherRow(text_SD, rows.text_row_X[x], base_XD[x]);
  for (int64_t y = 0; y < thought_YD.rows; ++y) {
    GatherRow(hidden_TD, rows.row_Y[y], thought_YD[y]);
  }
  buffers->coherence_K.clear();
  buffers->coherence_Y.clear();
  buffers->factor_YH.clear();
  if (network.heads.coherence() != nullptr) {
    ScoreCoherence(*network.heads.coherence(), rows, hidden_TD, text_SD, buffers);
    buffers->factor_YH = DropoutFactors(network.heads, options, rows);
  }
  buffers->weight_X.resize(static_cast<size_t>(sites));
  network.heads.Mix(SetsOf(network, rows, *buffers), mixed_XD, buffers->weight_X.data(), &buffers->heads);
  for (int64_t x = 0; x < sites; ++x) GatherRow(mixed_XD, x, hidden_RD[rows.scored_X[x]]);
  return hidden_RD;
}

void ComputeValues(const ThoughtNetwork& network, const ThoughtRows& rows, const Activations& activations,
                   ThoughtScoreBuffers* buffers) {
  const int64_t count = static_cast<int64_t>(rows.value_row_M.size()), width = network.heads.width();
  const Rows hidden_MD = RoomForRows(buffers->value_hidden_MD, count, width);
  for (int64_t m = 0; m < count; ++m) {
    GatherRow(activations.hidden_TD(), rows.value_row_M[m], hidden_MD[m]);
  }
  buffers->value_M.resize(static_cast<size_t>(count));
  network.heads.Values(hidden_MD, buffers->value_M.data(), &buffers->heads);
}

std::vector<int64_t> ThoughtTokenRows(const ThoughtRows& rows) {
  std::vector<int64_t> token_rows;
  for (int64_t r = 0; r < rows.scored(); ++r) {
    if (rows.predicts_R[r] == Predicts::kThought) token_rows.push_back(r);
  }
  return token_rows;
}

}  // namespace

void ScoreRows(const ThoughtNetwork& network, const ThoughtPassOptions& options, const ThoughtRows& rows,
               const ThoughtStates& states, ThoughtScoreBuffers* buffers, const Team& team) {
  const Rows hidden_RD = GatherAndMix(network, options, rows, states, buffers);
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
  buffers->value_M.clear();  // a network without values may follow one that has them
  if (network.heads.has_values()) ComputeValues(network, rows, states.batch, buffers);
}

void KeepReference(const ThoughtRows& rows, const Activations& reference, ThoughtScoreBuffers* buffers) {
  const ConstRows hidden_TD = reference.hidden_TD();
  const Rows kept_RD = RoomForRows(buffers->reference_RD, rows.scored(), hidden_TD.width);
  std::fill_n(kept_RD.data, rows.scored() * hidden_TD.width, 0.0f);
  for (const int64_t r : ThoughtTokenRows(rows)) GatherRow(hidden_TD, rows.row_R[r], kept_RD[r]);
}

void ScoreDivergences(const ThoughtNetwork& network, const ThoughtPassOptions& options, const Decoder& reference,
                      const ThoughtRows& rows, ThoughtScoreBuffers* buffers, const Team& team) {
  const float temperature = options.temperature;
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
    const int64_t r = token_rows[n];
    GatherRow(RowsOf(buffers->hidden_RD, rows.scored(), width), r, own_ND.data() + n * width);
    GatherRow(RowsOf(buffers->reference_RD, rows.scored(), width), r, other_ND.data() + n * width);
    own_N[n] = buffers->statistics_R[r];
  }
  const std::vector<int64_t> no_targets(static_cast<size_t>(count) + 1);
  TeamRows(team, count, [&](int64_t begin, int64_t end) {
    const kernels::Range part = {begin, end};
    const ConstRows own = ConstRows{own_ND.data(), count, width}.Slice(part),
                    other = ConstRows{other_ND.data(), count, width}.Slice(part);
    kernels::LmHeadForward({other, vocabulary, reference.weights.lm_head(), temperature, {no_targets.data(), nullptr}},
                           nullptr, other_N.data() + begin,
                           RoomOfThread(kernels::LmHeadScratch(part.size(), vocabulary)));
    const kernels::HeadRows of_policy = {own, network.decoder.weights.lm_head(), own_N.data() + begin},
                            of_reference = {other, reference.weights.lm_head(), other_N.data() + begin};
    const bool swaps = options.divergence_from_reference;
    kernels::HeadDivergence(vocabulary, swaps ? of_reference : of_policy, swaps ? of_policy : of_reference, temperature,
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
  // The most probable token's logit is the greatest: its log-probability is (max - max) - log_sum.
  const auto is_best = [&](size_t r) {
    return static_cast<uint8_t>(buffers.logprob_R[r] == 0.0f - buffers.statistics_R[r].log_sum ? 1 : 0);
  };
  for (int64_t k = rows.first_thought_P[part]; k < rows.first_thought_P[part + 1]; ++k) {
    const ThoughtPlace& place = rows.thought_K[k];
    for (int64_t t = 0; t < place.tokens; ++t) {
      const size_t r = static_cast<size_t>(place.first_scored + t);
      scores->logprob_T.push_back(buffers.logprob_R[r]);
      scores->entropy_T.push_back(buffers.statistics_R[r].entropy);
      if (with_divergences) scores->divergence_T.push_back(buffers.divergence_R[r]);
    }
    for (int64_t x = place.first_site; x < place.first_site + place.ahead; ++x) {
      const size_t r = static_cast<size_t>(rows.scored_X[x]);
      scores->mixed_logprob_A.push_back(buffers.logprob_R[r]);
      scores->mixed_entropy_A.push_back(buffers.statistics_R[r].entropy);
      scores->mixed_correct_A.push_back(is_best(r));
      scores->weight_A.push_back(buffers.weight_X[x]);
    }
    if (!buffers.coherence_K.empty()) scores->coherence_K.push_back(buffers.coherence_K[k]);
  }
  for (int64_t at = rows.first_scored_P[part]; at < rows.first_scored_P[part + 1]; ++at) {
    const size_t r = static_cast<size_t>(at);
    if (rows.predicts_R[r] != Predicts::kText) continue;
    scores->base_logprob_S.push_back(buffers.logprob_R[r]);
    scores->base_entropy_S.push_back(buffers.statistics_R[r].entropy);
    scores->base_correct_S.push_back(is_best(r));
  }
  for (int64_t m = rows.first_value_P[part]; m < rows.first_value_P[part + 1] && !buffers.value_M.empty(); ++m) {
    scores->value_M.push_back(buffers.value_M[m]);
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
  const size_t end = static_cast<size_t>(rows.first_scored_P[part + 1]);
  gradients->dlogprob_R.resize(end, 0.0f);
  gradients->dentropy_R.resize(end, 0.0f);
  gradients->ddivergence_R.resize(end, 0.0f);
  for (int64_t k = rows.first_thought_P[part]; k < rows.first_thought_P[part + 1]; ++k) {
    const ThoughtPlace& place = rows.thought_K[k];
    for (int64_t t = 0; t < place.tokens; ++t, ++cursor->t) {
      const size_t r = static_cast<size_t>(place.first_scored + t);
      gradients->dlogprob_R[r] = of.dlogprob_T[cursor->t];
      gradients->dentropy_R[r] = of.dentropy_T[cursor->t];
      if (!of.ddivergence_T.empty()) gradients->ddivergence_R[r] = of.ddivergence_T[cursor->t];
    }
    // The thoughts of a position may share their mixtures.
    for (int64_t x = place.first_site; x < place.first_site + place.ahead; ++x, ++cursor->a) {
      const size_t r = static_cast<size_t>(rows.scored_X[x]);
      gradients->dlogprob_R[r] += of.dmixed_logprob_A[cursor->a];
      gradients->dentropy_R[r] += of.dmixed_entropy_A[cursor->a];
    }
  }
  size_t s = 0;  // a text's own rows and values are in one batch
  for (size_t r = static_cast<size_t>(rows.first_scored_P[part]); r < end; ++r) {
    if (rows.predicts_R[r] != Predicts::kText) continue;
    gradients->dlogprob_R[r] = of.dbase_logprob_S[s];
    gradients->dentropy_R[r] = of.dbase_entropy_S[s++];
  }
  if (rows.first_value_P[part] < rows.first_value_P[part + 1]) {
    gradients->dvalue_M.insert(gradients->dvalue_M.end(), of.dvalue_M.begin(), of.dvalue_M.end());
  }
}

namespace {

// The gradients of coherences: of the text's states (dtext_KD), and of the means of thoughts' states (dmean_KD), which
// are added to their rows.
void CoherenceBackward(const ThoughtNetwork& network, const ThoughtRows& rows, const std::vector<float>& dcoherence_Y,
                       const ScoresTarget& target, ThoughtScoreBuffers* buffers) {
  const int64_t count = static_cast<int64_t>(rows.thought_K.size()), width = network.heads.width();
  std::vector<float> dcoherence_K(static_cast<size_t>(count));
  for (size_t y = 0; y < dcoherence_Y.size(); ++y) {
    dcoherence_K[rows.thought_Y[y]] += dcoherence_Y[y];
  }
  const Rows dtext_KD = RoomForRows(buffers->dtext_KD, count, width),
             dmean_KD = RoomForRows(buffers->dmean_KD, count, width);
  const ShardGradient& gradient = *target.parameters.gradient;
  network.heads.coherence()->Backward(
      RowsOf(buffers->text_KD, count, width), RowsOf(buffers->mean_KD, count, width), dcoherence_K.data(),
      {gradient.total, gradient.open, target.progress->thoughts, target.parameters.last}, dtext_KD, dmean_KD,
      &buffers->heads.coherence);
  target.progress->thoughts += count;
  std::vector<float> drow_D(static_cast<size_t>(width));
  for (int64_t k = 0; k < count; ++k) {
    const ThoughtPlace& place = rows.thought_K[k];
    for (int64_t t = 0; t < place.tokens; ++t) {
      // A mean's gradient is the same in each of its rows.
      for (int64_t d = 0; d < width; ++d) {
        drow_D[d] = dmean_KD[k][d] / static_cast<float>(place.tokens);
      }
      float* const dhidden = target.dhidden_TD + (place.first_token + t) * width;
      kernels::Add(width, dhidden, drow_D.data(), dhidden);
    }
  }
}

void MixedBackward(const ThoughtNetwork& network, const ThoughtRows& rows, const Rows& dhidden_RD,
                   const ScoresTarget& target, ThoughtScoreBuffers* buffers) {
  const int64_t width = network.heads.width(), sites = static_cast<int64_t>(rows.scored_X.size());
  const int64_t thought_rows = static_cast<int64_t>(rows.row_Y.size());
  const Rows dmixed_XD = RoomForRows(buffers->mixed_XD, sites, width),
             dbase_XD = RoomForRows(buffers->dbase_XD, sites, width),
             dthought_YD = RoomForRows(buffers->dthought_YD, thought_rows, width);
  for (int64_t x = 0; x < sites; ++x) GatherRow(dhidden_RD, rows.scored_X[x], dmixed_XD[x]);
  std::vector<float> dcoherence_Y(static_cast<size_t>(thought_rows));
  const ShardGradient& gradient = *target.parameters.gradient;
  network.heads.MixBackward(SetsOf(network, rows, *buffers), dmixed_XD,
                            {gradient.total, gradient.open, target.progress->sites, target.parameters.last},
                            target.progress->thought_rows, {dbase_XD, dthought_YD, dcoherence_Y.data()},
                            &buffers->heads);
  target.progress->sites += sites;
  target.progress->thought_rows += thought_rows;
  for (int64_t y = 0; y < thought_rows; ++y) {
    GatherRow(dthought_YD, y, target.dhidden_TD + rows.row_Y[y] * width);
  }
  const bool is_coherent = network.heads.coherence() != nullptr;
  if (is_coherent) CoherenceBackward(network, rows, dcoherence_Y, target, buffers);
  // No later position adds to a text row that coherences have been added to: so both loops have the same order in any
  // division into batches.
  float* const dtext_SD = target.dtext_SD == nullptr ? target.dhidden_TD : target.dtext_SD;
  const auto add = [&](const float* from, int64_t row) {
    kernels::Add(width, dtext_SD + row * width, from, dtext_SD + row * width);
  };
  for (int64_t x = 0; x < sites; ++x) add(dbase_XD[x], rows.text_row_X[x]);
  for (size_t k = 0; is_coherent && k < rows.thought_K.size(); ++k) {
    add(buffers->dtext_KD.data<float>().data() + static_cast<int64_t>(k) * width, rows.thought_K[k].text_row);
  }
}

void ValuesBackward(const ThoughtNetwork& network, const ThoughtRows& rows, const RowGradients& gradients,
                    const ScoresTarget& target, ThoughtScoreBuffers* buffers) {
  const int64_t width = network.heads.width(), count = static_cast<int64_t>(rows.value_row_M.size());
  const bool trains = network.heads.shape().values_train_decoder;
  const Rows dhidden_MD = {trains && count > 0 ? Room(buffers->dvalue_hidden_MD, count * width) : nullptr, count,
                           width};
  const ShardGradient& gradient = *target.parameters.gradient;
  network.heads.ValuesBackward(RowsOf(buffers->value_hidden_MD, count, width), gradients.dvalue_M.data(),
                               {gradient.total, gradient.open, target.progress->values, target.parameters.last},
                               dhidden_MD, &buffers->heads);
  target.progress->values += count;
  for (int64_t m = 0; m < count && dhidden_MD.data != nullptr; ++m) {
    float* const dtext = target.dhidden_TD + rows.value_row_M[m] * width;
    kernels::Add(width, dtext, dhidden_MD[m], dtext);
  }
}

}  // namespace

void ScoresBackward(const ThoughtNetwork& network, const ThoughtPassOptions& options, const Decoder* reference,
                    const ThoughtRows& rows, const RowGradients& gradients, const ScoresTarget& target,
                    ThoughtScoreBuffers* buffers, const Team& team) {
  const Decoder& decoder = network.decoder;
  const int64_t width = network.heads.width(), count = rows.scored();
  const GradientTarget& parameters = target.parameters;
  const Rows dhidden_RD = RoomForRows(buffers->dhidden_RD, count, width);
  const kernels::DivergenceGradient divergence = {
      {RowsOf(buffers->reference_RD, reference == nullptr ? 0 : count, width),
       reference == nullptr ? kernels::PackedMatrix() : reference->weights.lm_head(),
       buffers->reference_statistics_R.data()},
      buffers->divergence_R.data(),
      gradients.ddivergence_R.data(),
      options.divergence_from_reference};
  float* const scratch = Room(
      buffers->scratch, kernels::LmHeadBackwardScratch(count, width, decoder.config.vocab_size, reference != nullptr));
  kernels::LmHeadBackward(
      OperandsOf(decoder, rows, *buffers, RowsOf(buffers->hidden_RD, count, width)), buffers->statistics_R.data(),
      {gradients.dlogprob_R.data(), gradients.dentropy_R.data(), reference == nullptr ? nullptr : &divergence},
      dhidden_RD,
      parameters.ChainsOf(decoder.layout, decoder.layout.trained_lm_head(), parameters.gradient->scored_rows), scratch,
      team);
  parameters.gradient->scored_rows += count;
  if (!decoder.config.tie_word_embeddings) parameters.Finish(decoder.layout.trained_lm_head());

  const auto dhidden_of = [&](size_t r) { return target.dhidden_TD + rows.row_R[r] * width; };
  for (size_t r = 0; r < rows.row_R.size(); ++r) {
    if (rows.predicts_R[r] == Predicts::kThought) GatherRow(dhidden_RD, static_cast<int64_t>(r), dhidden_of(r));
  }
  MixedBackward(network, rows, dhidden_RD, target, buffers);
  for (size_t r = 0; r < rows.row_R.size(); ++r) {
    if (rows.predicts_R[r] != Predicts::kText) continue;
    kernels::Add(width, dhidden_of(r), dhidden_RD[static_cast<int64_t>(r)], dhidden_of(r));
  }
  if (network.heads.has_values()) ValuesBackward(network, rows, gradients, target, buffers);
  for (int spec = static_cast<int>(decoder.layout.specs.size()); spec-- > network.heads.first_spec();) {
    parameters.Finish(spec);
  }
}

}  // namespace reprise::models
