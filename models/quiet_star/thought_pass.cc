#include "models/quiet_star/thought_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "core/tensor/room.h"
#include "kernels/products/products.h"
#include "models/decoder/load_balancing.h"
#include "models/decoder/room.h"
#include "models/quiet_star/attention_dispersion.h"
#include "models/quiet_star/thought_scoring.h"

namespace reprise::models {

struct ThoughtWorkspace::Room {
  Room(const DecoderConfig& config, int64_t rows, bool recompute, const Team& team_of)
      : max_rows(rows),
        team(team_of),
        batch(config, /*training=*/true, recompute),
        text(config, /*training=*/true),
        reference_text(config, /*training=*/true) {}

  const int64_t max_rows;
  const Team team;
  Activations batch, text, reference_text;  // text: that of a text that is cut
  ThoughtScoreBuffers buffers;
  ShardGradient gradient;
  Tensor dhidden_TD, dtext_SD;
};

ThoughtWorkspace::ThoughtWorkspace(const DecoderConfig& config, int64_t max_rows, bool recompute, const Team& team)
    : room_(std::make_unique<Room>(config, max_rows, recompute, team)) {}
ThoughtWorkspace::~ThoughtWorkspace() = default;

int64_t ThoughtWorkspace::activation_bytes() const {
  return room_->batch.bytes() + room_->text.bytes() + room_->reference_text.bytes();
}

namespace {

using Room = ThoughtWorkspace::Room;

// Reports final tensors, of which the delimiters' embeddings are weighted first.
class Sink final : public GradientSink {
 public:
  Sink(const Decoder& decoder, const ThoughtPassOptions& options, const ThoughtPassTarget& target)
      : decoder_(decoder), options_(options), target_(target) {}

  void Finished(int spec, const ShardGradient&) override {
    if (spec == decoder_.layout.trained_embedding() && options_.delimiter_gradient_weight != 1) Weight(spec);
    if (target_.finished) target_.finished(spec);
  }

 private:
  void Weight(int spec) const {
    float* const rows_VD = target_.total + decoder_.layout.specs[spec].offset;
    const int64_t width = decoder_.config.hidden_size;
    const int64_t first = decoder_.layout.embedding < 0 ? decoder_.config.first_new_row() : 0;
    for (const int64_t token : {options_.delimiters.start, options_.delimiters.end}) {
      float* const row = rows_VD + (token - first) * width;
      for (int64_t d = 0; d < width; ++d) row[d] *= options_.delimiter_gradient_weight;
    }
  }

  const Decoder& decoder_;
  const ThoughtPassOptions& options_;
  const ThoughtPassTarget& target_;
};

// The passes over one shard.
class ShardPass {
 public:
  ShardPass(const ThoughtNetwork& network, absl::Span<const ThoughtfulText> texts, const ThoughtPassOptions& options,
            const Decoder* reference, Room* room)
      : network_(network),
        texts_(texts),
        options_(options),
        reference_(reference),
        room_(*room),
        plan_(PlanBatches(texts, RowsOptions(), room->max_rows)) {}

  // Computes gradients too. Called before Run.
  void LearnInto(const AuxiliaryGradient& auxiliary_E, const ThoughtPassTarget& target, GradientSink* sink) {
    auxiliary_E_ = &auxiliary_E;
    sink_ = sink;
    StartShard(network_.decoder.config, network_.decoder.layout, target.total, target.open, &room_.gradient);
    if (network_.decoder.config.router_aux_loss_coef != 0) {
      result_.probability_sum_E.resize(static_cast<size_t>(network_.decoder.config.num_experts));
    }
  }

  absl::Status Run(const ThoughtLoss& loss) {
    for (size_t b = 0; b < plan_.size();) {
      size_t end = b + 1;
      if (plan_[b].is_cut) {
        while (plan_[end - 1].parts[0].with_text == false) ++end;
        RETURN_IF_ERROR(RunCutText(b, end, loss));
      } else {
        RETURN_IF_ERROR(RunWholeTexts(plan_[b], end == plan_.size(), loss));
      }
      b = end;
    }
    return absl::OkStatus();
  }

  // Calls visit(rows, activations) for the batches, in order, after a forward pass over each, without scoring.
  template <typename Visit>
  void ForBatches(const Visit& visit) {
    for (const BatchPlan& plan : plan_) {
      const ThoughtRows rows = Pack(plan);
      const bool is_alone = plan.is_cut && plan.parts[0].with_text;
      if (plan.is_cut && plan.parts[0].first_thought == 0 && !is_alone) ForwardText(plan);
      if (!is_alone) {
        models::Forward(network_.decoder, rows.batch, plan.is_cut ? &room_.text : nullptr, &room_.batch, room_.team);
      }
      visit(plan, rows, is_alone ? room_.text : room_.batch);
    }
  }

  ThoughtPassResult TakeResult() { return std::move(result_); }

 private:
  bool learns() const { return auxiliary_E_ != nullptr; }

  ThoughtRows Pack(const BatchPlan& plan) const { return PackThoughts(texts_, plan, RowsOptions()); }

  ThoughtRowsOptions RowsOptions() const {
    return {options_.delimiters, options_.tokens_ahead, options_.temperature, network_.heads.is_joint()};
  }

  // The text of a batch, alone.
  void ForwardText(const BatchPlan& plan) {
    const int64_t text = plan.parts[0].text;
    const int64_t thoughts = static_cast<int64_t>(texts_[text].thoughts.size());
    const ThoughtRows alone = Pack({{{text, thoughts, thoughts, true}}, true});
    if (reference_ != nullptr) {
      models::Forward(*reference_, alone.batch, nullptr, &room_.reference_text, room_.team);
    }
    models::Forward(network_.decoder, alone.batch, nullptr, &room_.text, room_.team);
  }

  // Computes the scores of a batch. is_cut: its text is outside, or the text is all that it is.
  void Score(const ThoughtRows& rows, bool is_cut, bool is_alone) {
    if (reference_ != nullptr) {
      if (!is_alone) {
        models::Forward(*reference_, rows.batch, is_cut ? &room_.reference_text : nullptr, &room_.batch, room_.team);
      }
      KeepReference(rows, is_alone ? room_.reference_text : room_.batch, &room_.buffers);
    }
    if (!is_alone) {
      models::Forward(network_.decoder, rows.batch, is_cut ? &room_.text : nullptr, &room_.batch, room_.team);
    }
    ScoreRows(network_, options_, rows,
              {is_alone ? room_.text : room_.batch, is_cut && !is_alone ? &room_.text : nullptr}, &room_.buffers,
              room_.team);
    if (reference_ != nullptr) {
      ScoreDivergences(network_, options_, *reference_, rows, &room_.buffers, room_.team);
    }
  }

  // The segment of the text of part p of a batch of whole texts: its thoughts come first.
  static size_t TextSegment(const ThoughtRows& rows, size_t p) {
    return static_cast<size_t>(rows.first_thought_P[p + 1]) + p;
  }

  absl::Status CallLoss(const ThoughtLoss& loss, int64_t text, const ThoughtScores& scores,
                        ThoughtGradients* gradients) {
    if (learns()) ClearGradients(scores, gradients);
    return loss(text, scores, gradients);
  }

  absl::Status RunWholeTexts(const BatchPlan& plan, bool last, const ThoughtLoss& loss) {
    const ThoughtRows rows = Pack(plan);
    Score(rows, /*is_cut=*/false, /*is_alone=*/false);
    RowGradients of_rows;
    for (size_t p = 0; p < plan.parts.size(); ++p) {
      ThoughtScores scores;
      ThoughtGradients gradients;
      AppendScores(rows, p, reference_ != nullptr, room_.buffers, &scores);
      if (options_.dispersion) scores.dispersion_S = AttentionDispersion(room_.batch, TextSegment(rows, p));
      RETURN_IF_ERROR(CallLoss(loss, plan.parts[p].text, scores, &gradients));
      GradientCursor cursor = {&gradients};
      if (learns()) AppendGradients(rows, p, &cursor, &of_rows);
    }
    if (!learns()) return absl::OkStatus();
    float* const dhidden_TD = Zeros(&room_.dhidden_TD, rows.batch.rows());
    BackwardBatch(rows, of_rows, &room_.batch, nullptr, dhidden_TD, last);
    return absl::OkStatus();
  }

  // A text that is cut: its scores are known only after all of its batches, which are then computed again.
  absl::Status RunCutText(size_t begin, size_t end, const ThoughtLoss& loss) {
    ForwardText(plan_[begin]);
    ThoughtScores scores;
    for (size_t b = begin; b < end; ++b) {
      const ThoughtRows rows = Pack(plan_[b]);
      Score(rows, /*is_cut=*/true, /*is_alone=*/b + 1 == end);
      AppendScores(rows, 0, reference_ != nullptr, room_.buffers, &scores);
    }
    if (options_.dispersion) scores.dispersion_S = AttentionDispersion(room_.text, 0);
    ThoughtGradients gradients;
    const int64_t text = plan_[begin].parts[0].text;
    RETURN_IF_ERROR(CallLoss(loss, text, scores, &gradients));
    if (!learns()) return absl::OkStatus();
    ++result_.cut_texts;
    GradientCursor cursor = {&gradients};
    float* const dtext_SD = Zeros(&room_.dtext_SD, room_.text.rows());
    for (size_t b = begin; b < end; ++b) {
      const bool is_alone = b + 1 == end;
      const ThoughtRows rows = Pack(plan_[b]);
      Score(rows, /*is_cut=*/true, is_alone);
      RowGradients of_rows;
      AppendGradients(rows, 0, &cursor, &of_rows);
      if (is_alone) {
        BackwardBatch(rows, of_rows, &room_.text, nullptr, dtext_SD, end == plan_.size());
      } else {
        BackwardBatch(rows, of_rows, &room_.batch, dtext_SD, Zeros(&room_.dhidden_TD, rows.batch.rows()), false);
      }
    }
    return absl::OkStatus();
  }

  // dtext_SD: of the text outside; null if there is none.
  void BackwardBatch(const ThoughtRows& rows, const RowGradients& gradients, Activations* activations, float* dtext_SD,
                     float* dhidden_TD, bool last) {
    Count(*activations);
    const GradientTarget target = {&room_.gradient, sink_, last};
    ScoresBackward(network_, options_, reference_, rows, gradients, {target, &progress_, dhidden_TD, dtext_SD},
                   &room_.buffers, room_.team);
    models::Backward(network_.decoder, *auxiliary_E_, activations, dtext_SD == nullptr ? nullptr : &room_.text,
                     dhidden_TD, target, room_.team);
  }

  void Count(const Activations& activations) {
    ++result_.batches;
    std::vector<double> of_segment_E(result_.probability_sum_E.size());
    for (const Segment& segment : activations.batch().segments) {
      (segment.prefix == kNoPrefix ? result_.text_rows : result_.thought_rows) += segment.rows;
      if (of_segment_E.empty()) continue;
      SumProbabilities(activations, segment, of_segment_E.data());
      for (size_t e = 0; e < of_segment_E.size(); ++e) result_.probability_sum_E[e] += of_segment_E[e];
    }
    std::vector<float>& largest = result_.largest_logit_LH;
    const absl::Span<const float> own = activations.largest_logit_LH();
    if (largest.empty()) largest.assign(own.begin(), own.end());
    for (size_t i = 0; i < own.size(); ++i) largest[i] = std::max(largest[i], own[i]);
  }

  float* Zeros(Tensor* tensor, int64_t rows) const {
    const int64_t floats = rows * network_.decoder.config.hidden_size;
    float* const zeros = reprise::Room(*tensor, floats);
    std::fill_n(zeros, floats, 0.0f);
    return zeros;
  }

  const ThoughtNetwork& network_;
  const absl::Span<const ThoughtfulText> texts_;
  const ThoughtPassOptions& options_;
  const Decoder* const reference_;
  Room& room_;
  const std::vector<BatchPlan> plan_;
  const AuxiliaryGradient* auxiliary_E_ = nullptr;  // null: no gradients are computed
  GradientSink* sink_ = nullptr;
  HeadProgress progress_;
  ThoughtPassResult result_;
};

}  // namespace

void ScoreThoughts(const ThoughtNetwork& network, absl::Span<const ThoughtfulText> texts,
                   const ThoughtPassOptions& options, const ThoughtReceiver& receive, ThoughtWorkspace* work) {
  const ThoughtLoss no_loss = [&](int64_t text, const ThoughtScores& scores, ThoughtGradients*) {
    receive(text, scores);
    return absl::OkStatus();
  };
  CHECK(ShardPass(network, texts, options, nullptr, &work->room()).Run(no_loss).ok());
}

std::vector<std::vector<float>> ScoreThoughtBehaviour(const ThoughtNetwork& network,
                                                      absl::Span<const ThoughtfulText> texts,
                                                      const ThoughtPassOptions& options,
                                                      const ThoughtSampling& sampling, ThoughtWorkspace* work) {
  std::vector<std::vector<float>> logprob_NT(texts.size());
  const int64_t vocabulary = network.decoder.config.vocab_size, width = network.decoder.config.hidden_size;
  std::vector<float> logits(static_cast<size_t>(vocabulary));
  kernels::SamplingWorkspace scratch;
  const auto visit = [&](const BatchPlan& plan, const ThoughtRows& rows, const Activations& activations) {
    for (size_t p = 0; p < plan.parts.size(); ++p) {
      for (size_t r = static_cast<size_t>(rows.first_scored_P[p]); r < static_cast<size_t>(rows.first_scored_P[p + 1]);
           ++r) {
        if (rows.predicts_R[r] != Predicts::kThought) continue;
        kernels::Product({activations.hidden_TD()[rows.row_R[r]], 1, width}, network.decoder.weights.lm_head(),
                         {logits.data(), 1, vocabulary});
        logprob_NT[plan.parts[p].text].push_back(
            ThoughtBehaviourLogprob(sampling, rows.target_R[r], absl::MakeSpan(logits), &scratch));
      }
    }
  };
  ShardPass(network, texts, options, nullptr, &work->room()).ForBatches(visit);
  return logprob_NT;
}

void CountThoughtExperts(const ThoughtNetwork& network, absl::Span<const ThoughtfulText> texts,
                         const ThoughtPassOptions& options, absl::Span<int64_t> count_LE, ThoughtWorkspace* work) {
  const auto visit = [&](const BatchPlan&, const ThoughtRows&, const Activations& activations) {
    AddExpertCounts(activations, count_LE);
  };
  ShardPass(network, texts, options, nullptr, &work->room()).ForBatches(visit);
}

absl::StatusOr<ThoughtPassResult> AccumulateThoughts(const ThoughtNetwork& network,
                                                     absl::Span<const ThoughtfulText> texts,
                                                     const ThoughtPassOptions& options, const ThoughtPassInput& input,
                                                     const ThoughtPassTarget& target, ThoughtWorkspace* work) {
  if (texts.empty()) {
    std::fill_n(target.total, network.decoder.layout.total, 0.0f);
    return ThoughtPassResult();
  }
  Sink sink(network.decoder, options, target);
  ShardPass pass(network, texts, options, input.reference, &work->room());
  pass.LearnInto(input.auxiliary_E, target, &sink);
  RETURN_IF_ERROR(pass.Run(input.loss));
  return pass.TakeResult();
}

}  // namespace reprise::models
