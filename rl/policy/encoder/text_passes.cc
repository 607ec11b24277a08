#include "rl/policy/encoder/text_passes.h"

#include "kernels/rows/mean_rows.h"

namespace reprise::rl {
namespace {

using models::Segment;

// Computes the activations of a micro-batch.
void Forward(const models::Decoder& encoder, const UniqueTexts& texts, const kernels::Range& range,
             TextWorkspace* work) {
  models::PackedBatch& batch = work->batch;
  batch.Clear();
  for (int64_t u = range.begin; u < range.end; ++u) {
    const absl::Span<const int32_t> text = texts.text(u);
    batch.segments.push_back({.begin = batch.rows(),
                              .rows = static_cast<int64_t>(text.size()),
                              .prefix = models::kNoPrefix,
                              .copies = texts.decisions_by(u)});
    batch.token_T.insert(batch.token_T.end(), text.begin(), text.end());
    for (size_t t = 0; t < text.size(); ++t) batch.position_T.push_back(static_cast<int32_t>(t));
    if (!texts.dropout()) continue;
    const models::DropoutPlace place = PlaceOfText(*texts.dropout(), text);
    for (size_t t = 0; t < text.size(); ++t) {
      batch.dropout_T.push_back(models::DropoutSeedOf(place, static_cast<int64_t>(t)));
    }
  }
  models::Forward(encoder, batch, nullptr, &work->activations, work->team);
}

kernels::Range SegmentRows(const Segment& segment) { return {segment.begin, segment.begin + segment.rows}; }

}  // namespace

std::vector<float> EncodeTexts(const models::Decoder& encoder, const UniqueTexts& texts, TextWorkspace* work,
                               const std::function<void(const models::Activations&)>& visit) {
  const int64_t width = encoder.config.hidden_size;
  std::vector<float> embedding_UD(static_cast<size_t>(texts.texts() * width));
  float* embedding = embedding_UD.data();
  for (const kernels::Range& range : texts.MicroBatches(work->max_rows)) {
    Forward(encoder, texts, range, work);
    for (const Segment& segment : work->batch.segments) {
      kernels::MeanOfRows(work->activations.hidden_TD().Slice(SegmentRows(segment)), embedding);
      embedding += width;
    }
    if (visit) visit(work->activations);
  }
  work->encoded_texts += texts.texts();
  return embedding_UD;
}

void BackwardTexts(const models::Decoder& encoder, const UniqueTexts& texts, const float* dembedding_UD,
                   const models::AuxiliaryGradient& auxiliary_E, models::GradientSink* sink, TextWorkspace* work) {
  const int64_t width = encoder.config.hidden_size;
  const std::vector<kernels::Range> plan = texts.MicroBatches(work->max_rows);
  for (const kernels::Range& range : plan) {
    if (plan.size() > 1) Forward(encoder, texts, range, work);
    const int64_t rows = work->batch.rows();
    work->dhidden_TD.resize(static_cast<size_t>(rows * width));
    const kernels::Rows dhidden_TD = {work->dhidden_TD.data(), rows, width};
    for (const Segment& segment : work->batch.segments) {
      kernels::MeanOfRowsBackward(dembedding_UD, dhidden_TD.Slice(SegmentRows(segment)));
      dembedding_UD += width;
    }
    models::Backward(encoder, auxiliary_E, &work->activations, nullptr, work->dhidden_TD.data(),
                     {&work->gradient, sink, range.end == texts.texts()}, work->team);
  }
}

}  // namespace reprise::rl
