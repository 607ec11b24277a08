// Compares the decoder's forward pass with the reference: hidden states, their means, routing and the load-balancing
// loss.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "kernels/products/products.h"
#include "kernels/router/router.h"
#include "models/decoder/load_balancing.h"
#include "models/olmoe/olmoe_model.h"
#include "tests/golden/golden_model.h"

namespace reprise::golden {
namespace {

using models::Activations;
using models::Model;

constexpr double kRow = 1e-5;     // hidden states, router logits, logits
constexpr double kScalar = 2e-6;  // losses
constexpr double kWeight = 1e-5;  // routing weights

// Compares our packed rows with those of the padded reference.
class RowComparison {
 public:
  RowComparison(const Vectors& vectors, Errors* errors)
      : vectors_(vectors), lengths_(vectors.Integers("lengths")), errors_(*errors) {}

  // Calls visit(packed row, padded row) for every row that is not padding.
  template <typename Visit>
  void ForEachRow(Visit visit) const {
    int64_t row = 0;
    for (size_t i = 0; i < lengths_.size(); ++i) {
      for (int64_t t = 0; t < lengths_[i]; ++t) visit(row++, static_cast<int64_t>(i) * vectors_.PaddedLength() + t);
    }
  }

  void Compare(const std::string& kind, const std::string& name, const kernels::ConstRows& ours) const {
    const std::vector<double> golden = vectors_.Doubles(name);
    ForEachRow([&](int64_t row, int64_t padded) {
      for (int64_t i = 0; i < ours.width; ++i) {
        errors_.Compare(kind, ours[row][i], golden[padded * ours.width + i], kRow,
                        absl::StrCat(name, "[", padded, ",", i, "]"));
      }
    });
  }

 private:
  const Vectors& vectors_;
  const std::vector<int64_t> lengths_;
  Errors& errors_;
};

// Compares the chosen experts as a set and in order of descending weight, and their weights.
void CompareRouting(const Vectors& vectors, const Activations& activations, int64_t layer, const RowComparison& rows,
                    Errors* errors) {
  const int64_t k = activations.config().num_experts_per_tok;
  const std::string index_name = absl::StrCat("topk_index_", layer);
  const std::vector<int64_t> index = vectors.Integers(index_name);
  const std::vector<double> weight = vectors.Doubles(absl::StrCat("f64.topk_weight_", layer));
  rows.ForEachRow([&](int64_t row, int64_t padded) {
    const int32_t* const expert_K = activations.layer(layer).expert_TK + row * k;
    const float* const weight_K = activations.layer(layer).weight_TK + row * k;
    const std::string where = absl::StrCat(index_name, "[", padded, "]");
    std::vector<int64_t> ours(expert_K, expert_K + k),
        golden(index.begin() + padded * k, index.begin() + padded * k + k);
    const std::vector<int64_t> descending = golden;
    std::sort(golden.begin(), golden.end());
    errors->CompareExactly("experts (set)", ours == golden, where);

    std::vector<size_t> order(static_cast<size_t>(k));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weight_K[a] > weight_K[b]; });
    for (size_t i = 0; i < order.size(); ++i) {
      errors->CompareExactly("experts (by descending weight)", ours[order[i]] == descending[i], where);
      errors->Compare("expert weights", weight_K[order[i]], weight[static_cast<size_t>(padded * k) + i], kWeight,
                      where);
    }
  });
}

void CompareLogits(const models::Decoder& decoder, const Activations& activations, const RowComparison& rows) {
  const int64_t vocabulary = decoder.config.vocab_size;
  std::vector<float> floats(static_cast<size_t>(activations.rows() * vocabulary));
  const kernels::Rows logits = {floats.data(), activations.rows(), vocabulary};
  kernels::Product(activations.hidden_TD(), decoder.weights.lm_head(), logits);
  rows.Compare("logits", "f64.logits", logits);
}

double LoadBalancing(const Activations& activations) {
  const models::DecoderConfig& config = activations.config();
  std::vector<int64_t> count_LE = models::NoExpertCounts(config);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    kernels::CountExperts(activations.rows(), config.num_experts_per_tok, activations.layer(i).expert_TK,
                          count_LE.data() + i * config.num_experts);
  }
  std::vector<double> sum_E(static_cast<size_t>(config.num_experts)), segment_sum_E(sum_E.size());
  for (const models::Segment& segment : activations.batch().segments) {
    models::SumProbabilities(activations, segment, segment_sum_E.data());
    for (size_t e = 0; e < sum_E.size(); ++e) sum_E[e] += segment_sum_E[e];
  }
  return models::LoadBalancingLoss(config, count_LE, sum_E, activations.rows());
}

// Returns the loss over all rows, including padding. A padding row attends to all tokens before it but not to itself,
// which packed rows cannot express. So the router logits are the reference's, and the router and the loss are ours.
double LoadBalancingWithPadding(const models::DecoderConfig& config, const Vectors& vectors) {
  std::vector<int64_t> count_LE = models::NoExpertCounts(config);
  std::vector<double> sum_E(static_cast<size_t>(config.num_experts));
  int64_t rows = 0;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string name = absl::StrCat("f64.router_logits_", layer);
    rows = vectors.FindShape(name)[0];
    const std::vector<double> golden = vectors.Doubles(name);
    const std::vector<float> logits_TE(golden.begin(), golden.end());
    std::vector<float> probability_TE(logits_TE.size()),
        weight_TK(static_cast<size_t>(rows * config.num_experts_per_tok));
    std::vector<int32_t> expert_TK(weight_TK.size());
    kernels::RouterForward(models::RouterOf(config, rows), logits_TE.data(), probability_TE.data(), expert_TK.data(),
                           weight_TK.data());
    kernels::CountExperts(rows, config.num_experts_per_tok, expert_TK.data(),
                          count_LE.data() + layer * config.num_experts);
    for (size_t i = 0; i < probability_TE.size(); ++i) sum_E[i % sum_E.size()] += probability_TE[i];
  }
  return models::LoadBalancingLoss(config, count_LE, sum_E, rows);
}

Errors ForwardErrors(const Model& model, const Vectors& vectors) {
  Errors errors;
  Activations activations(model.config(), /*training=*/true);
  models::Forward(model.decoder(), Pack(vectors.Sequences()), nullptr, &activations);
  const RowComparison rows(vectors, &errors);
  const int64_t layers = model.config().num_hidden_layers;
  for (int64_t i = 0; i < layers; ++i) {
    rows.Compare("hidden states", absl::StrCat("f64.hidden_", i), activations.layer(i).x_TD);
    rows.Compare("router logits", absl::StrCat("f64.router_logits_", i), activations.layer(i).router_logits_TE);
    CompareRouting(vectors, activations, i, rows, &errors);
  }
  rows.Compare("hidden states", absl::StrCat("f64.hidden_", layers), activations.hidden_TD());
  CompareLogits(model.decoder(), activations, rows);
  errors.Compare("load balancing", LoadBalancing(activations), vectors.Scalar("f64.aux"), kScalar, "aux");
  return errors;
}

// Compares the mean of each sequence's last hidden states with OlmoeModel's encoding of the sequence.
Errors EncodingErrors(const models::OlmoeModel& model, const Vectors& vectors) {
  Errors errors;
  const std::vector<std::vector<int32_t>> sequences = vectors.Sequences();
  const auto encoded = model.EncodeTokens(sequences);
  EXPECT_OK(encoded);
  const models::DecoderConfig& config = model.model()->config();
  const std::vector<double> golden = vectors.Doubles(absl::StrCat("f64.hidden_", config.num_hidden_layers));
  for (size_t b = 0; b < sequences.size(); ++b) {
    for (int64_t i = 0; i < config.hidden_size; ++i) {
      double mean = 0;
      for (size_t t = 0; t < sequences[b].size(); ++t) {
        const int64_t padded = static_cast<int64_t>(b) * vectors.PaddedLength() + static_cast<int64_t>(t);
        mean += golden[padded * config.hidden_size + i] / static_cast<double>(sequences[b].size());
      }
      errors.Compare("encodings", (*encoded)[b][i], mean, kRow, absl::StrCat("[", b, ",", i, "]"));
    }
  }
  return errors;
}

using ForwardGoldenTest = GoldenModelTest;
INSTANTIATE_ON_GOLDEN_MODELS(ForwardGoldenTest);

TEST_P(ForwardGoldenTest, EqualsTheReferenceOnPackedRows) { ExpectWithin(ForwardErrors(*model_, *vectors_)); }

TEST_P(ForwardGoldenTest, LoadBalancingLossEqualsTheReferenceWithPaddingCounted) {
  Errors errors;
  errors.Compare("load balancing with padding", LoadBalancingWithPadding(model_->config(), *vectors_),
                 vectors_->Scalar("f64.aux_nomask"), kScalar, "aux_nomask");
  ExpectWithin(errors);
}

TEST_P(ForwardGoldenTest, DetectsAnErrorOfOnePercentInTheWeights) {
  Perturb(0.01, model_.get());
  const Errors errors = ForwardErrors(*model_, *vectors_);
  for (const char* kind : {"hidden states", "router logits", "expert weights", "logits"}) {
    EXPECT_FALSE(errors.Within(kind)) << errors.ToString();
  }
}

TEST_P(ForwardGoldenTest, EncodingsAreTheMeansOfTheReferencesHiddenStates) {
  ThreadPool pool(2);
  models::OlmoeModel model(pool);
  ASSERT_OK(model.Load(testing::GoldensDirectory() + "/models/" + GetParam()));
  ExpectWithin(EncodingErrors(model, *vectors_));
  Perturb(0.01, model.model());
  EXPECT_FALSE(EncodingErrors(model, *vectors_).Within());
}

TEST_P(ForwardGoldenTest, DetectsADifferentRouting) {
  if (model_->config().num_experts_per_tok == model_->config().num_experts) GTEST_SKIP() << "every expert is chosen";
  MakeAnotherModel(model_.get());
  const Errors errors = ForwardErrors(*model_, *vectors_);
  EXPECT_FALSE(errors.Within("load balancing")) << errors.ToString();
  EXPECT_FALSE(errors.Within("experts (set)")) << errors.ToString();
  EXPECT_FALSE(errors.Within("experts (by descending weight)")) << errors.ToString();
}

}  // namespace
}  // namespace reprise::golden
