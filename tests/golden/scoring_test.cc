// Compares the language-model head on whole sequences with the reference: log-probabilities, entropies, cross-entropy.

#include "absl/strings/str_cat.h"
#include "kernels/sums/sums.h"
#include "tests/golden/golden_model.h"
#include "tests/golden/sequence_scores.h"

namespace reprise::golden {
namespace {

constexpr double kToken = 1e-5;
constexpr double kScalar = 2e-6;

// Compares our values, one for each target in row order, with a padded matrix whose column t is for token t + 1.
template <typename Value>
void CompareTargets(const Vectors& vectors, const std::string& kind, const std::string& name, Value value,
                    Errors* errors) {
  const std::vector<double> golden = vectors.Doubles(name);
  const int64_t columns = vectors.FindShape(name)[1];
  const std::vector<std::vector<int32_t>> sequences = vectors.Sequences();
  size_t target = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    for (int64_t t = 0; t + 1 < static_cast<int64_t>(sequences[i].size()); ++t) {
      errors->Compare(kind, value(target++), golden[static_cast<int64_t>(i) * columns + t], kToken,
                      absl::StrCat(name, "[", i, ",", t, "]"));
    }
  }
}

Errors ScoringErrors(const models::Model& model, const Vectors& vectors) {
  Errors errors;
  const SequenceScores at_1 = Score(model.decoder(), vectors.Sequences(), 1.0f);
  const SequenceScores at_07 = Score(model.decoder(), vectors.Sequences(), 0.7f);
  CompareTargets(
      vectors, "log-probs at T = 1", "f64.token_logprob_T1", [&](size_t i) { return at_1.buffers.logprob[i]; },
      &errors);
  CompareTargets(
      vectors, "log-probs at T = 0.7", "f64.token_logprob_T07", [&](size_t i) { return at_07.buffers.logprob[i]; },
      &errors);
  CompareTargets(
      vectors, "entropies", "f64.entropy_T1", [&](size_t i) { return at_1.buffers.statistics_S[i].entropy; }, &errors);
  const size_t targets = static_cast<size_t>(at_1.rows.targets());
  const std::vector<double> logprob(at_1.buffers.logprob.begin(), at_1.buffers.logprob.begin() + targets);
  errors.Compare("cross-entropy", -kernels::TreeSum(logprob) / static_cast<double>(targets), vectors.Scalar("f64.ce"),
                 kScalar, "ce");
  return errors;
}

using ScoringGoldenTest = GoldenModelTest;
INSTANTIATE_ON_GOLDEN_MODELS(ScoringGoldenTest);

TEST_P(ScoringGoldenTest, EqualsTheReference) { ExpectWithin(ScoringErrors(*model_, *vectors_)); }

TEST_P(ScoringGoldenTest, DetectsAnErrorOfOnePercentInTheWeights) {
  Perturb(0.01, model_.get());
  const Errors errors = ScoringErrors(*model_, *vectors_);
  for (const auto& [kind, error] : errors.kinds()) EXPECT_FALSE(errors.Within(kind)) << errors.ToString();
}

}  // namespace
}  // namespace reprise::golden
