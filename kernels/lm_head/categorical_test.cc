#include "kernels/lm_head/categorical.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/math/vector_math.h"
#include "kernels/sampling/sampling.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::Lanes;
using ::reprise::testing::RandomBelow;
using ::reprise::testing::RandomFloats;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

// R rows of A actions, with the gradient of a loss.
struct Problem {
  int64_t R, A;
  float temperature;
  std::vector<float> logits_RA, reference_RA;
  std::vector<uint8_t> allowed_RA;
  std::vector<int32_t> action_R;
  std::vector<float> dlogprob_R, dentropy_R, ddivergence_R;

  Problem(int64_t rows, int64_t actions, float at, uint64_t seed)
      : R(rows),
        A(actions),
        temperature(at),
        logits_RA(RandomNormals(R * A, 10 * seed, 2.0f)),
        reference_RA(RandomNormals(R * A, 10 * seed + 1, 2.0f)),
        dlogprob_R(RandomFloats(R, 10 * seed + 2)),
        dentropy_R(RandomFloats(R, 10 * seed + 3)),
        ddivergence_R(RandomFloats(R, 10 * seed + 4)) {
    for (int64_t i = 0; i < R * A; ++i) allowed_RA.push_back(RandomBelow(3, 10 * seed + 5, i) > 0);
    for (int64_t r = 0; r < R; ++r) {
      action_R.push_back(static_cast<int32_t>(RandomBelow(A, 10 * seed + 6, r)));
      allowed_RA[r * A + action_R[r]] = 1;
      if (r % 3 == 1) dentropy_R[r] = 0;
      if (r % 4 == 1) ddivergence_R[r] = 0;
    }
  }

  std::vector<float> Masked(std::vector<float> logits) const {
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = allowed_RA[i] != 0 ? logits[i] : kMaskedLogit;
    return logits;
  }
};

struct Outcome {
  std::vector<float> logprob_RA, entropy_R, divergence_R, dlogits_RA;

  std::vector<float> All() const {
    std::vector<float> all = logprob_RA;
    for (const std::vector<float>* part : {&entropy_R, &divergence_R, &dlogits_RA}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }
};

// By the contract, for a row of divided logits.
std::vector<float> ReferenceLogprobs(const std::vector<float>& z) {
  const RowStatistics row = StatisticsOfRow(z.size(), z.data());
  std::vector<float> logprob;
  for (const float value : z) logprob.push_back((value - row.max) - row.log_sum);
  return logprob;
}

float ReferenceDivergence(const std::vector<float>& logprob, const std::vector<float>& other) {
  double sum = 0;
  for (size_t first = 0; first < logprob.size(); first += kVocabularyChunk) {
    Lanes lanes;
    for (size_t v = first; v < std::min(logprob.size(), first + kVocabularyChunk); ++v) {
      lanes.MulAdd(v, Exp(logprob[v]), logprob[v] - other[v]);
    }
    sum += lanes.Sum();
  }
  return static_cast<float>(std::max(sum, 0.0));
}

Outcome Reference(const Problem& problem) {
  Outcome outcome;
  const auto divided = [&](const std::vector<float>& logits, int64_t r) {
    std::vector<float> z(logits.begin() + r * problem.A, logits.begin() + (r + 1) * problem.A);
    for (float& value : z) value /= problem.temperature;
    return z;
  };
  const std::vector<float> masked = problem.Masked(problem.logits_RA),
                           other_masked = problem.Masked(problem.reference_RA);
  for (int64_t r = 0; r < problem.R; ++r) {
    const std::vector<float> z = divided(masked, r);
    const std::vector<float> logprob = ReferenceLogprobs(z), other = ReferenceLogprobs(divided(other_masked, r));
    const float entropy = StatisticsOfRow(problem.A, z.data()).entropy;
    outcome.logprob_RA.insert(outcome.logprob_RA.end(), logprob.begin(), logprob.end());
    outcome.entropy_R.push_back(entropy);
    outcome.divergence_R.push_back(ReferenceDivergence(logprob, other));
    for (int64_t v = 0; v < problem.A; ++v) {
      const float p = Exp(logprob[v]);
      float dz = -problem.dlogprob_R[r] * p;
      if (v == problem.action_R[r]) dz += problem.dlogprob_R[r];
      if (problem.dentropy_R[r] != 0) dz += -problem.dentropy_R[r] * p * (logprob[v] + entropy);
      if (problem.ddivergence_R[r] != 0) {
        dz += problem.ddivergence_R[r] * p * ((logprob[v] - other[v]) - outcome.divergence_R[r]);
      }
      outcome.dlogits_RA.push_back(dz / problem.temperature);
    }
  }
  return outcome;
}

// The kernels, with strides; what lies between the rows must stay as it is. in_place: the gradient replaces z.
Outcome ByKernels(const Problem& problem, bool in_place) {
  const int64_t stride = problem.A + 3;
  const auto strided = [&](const auto& values, auto fill) {
    std::vector<std::decay_t<decltype(values[0])>> rows(problem.R * stride, fill);
    for (int64_t r = 0; r < problem.R; ++r) {
      std::copy_n(values.begin() + r * problem.A, problem.A, rows.begin() + r * stride);
    }
    return rows;
  };
  const auto dense = [&](const std::vector<float>& rows) {
    std::vector<float> values;
    for (int64_t r = 0; r < problem.R; ++r) {
      values.insert(values.end(), rows.begin() + r * stride, rows.begin() + r * stride + problem.A);
      for (int64_t v = problem.A; v < stride; ++v) EXPECT_EQ(rows[r * stride + v], 5.0f);
    }
    return values;
  };
  const std::vector<uint8_t> allowed = strided(problem.allowed_RA, uint8_t{1});
  std::vector<float> z = strided(problem.logits_RA, 5.0f), reference_z = strided(problem.reference_RA, 5.0f);
  std::vector<float> dlogits(problem.R * stride, 5.0f);
  const Rows z_rows = {z.data(), problem.R, problem.A, stride};
  const Rows reference_rows = {reference_z.data(), problem.R, problem.A, stride};
  std::vector<RowStatistics> statistics(problem.R), reference_statistics(problem.R);
  for (const Rows& rows : {z_rows, reference_rows}) MaskLogits({allowed.data(), problem.R, problem.A, stride}, rows);
  CategoricalForward(problem.temperature, z_rows, statistics.data());
  CategoricalForward(problem.temperature, reference_rows, reference_statistics.data());
  const CategoricalRows policy = {z_rows, statistics.data()}, reference = {reference_rows, reference_statistics.data()};
  Outcome outcome;
  outcome.divergence_R.resize(problem.R);
  CategoricalDivergence(policy, reference, outcome.divergence_R.data());
  for (int64_t r = 0; r < problem.R; ++r) {
    for (int64_t v = 0; v < problem.A; ++v) outcome.logprob_RA.push_back(LogProbability(statistics[r], z_rows[r][v]));
    outcome.entropy_R.push_back(statistics[r].entropy);
  }
  CategoricalBackward(policy, problem.temperature,
                      {problem.action_R.data(), problem.dlogprob_R.data(), problem.dentropy_R.data(), reference,
                       outcome.divergence_R.data(), problem.ddivergence_R.data()},
                      in_place ? z_rows : Rows{dlogits.data(), problem.R, problem.A, stride});
  outcome.dlogits_RA = dense(in_place ? z : dlogits);
  return outcome;
}

TEST(CategoricalTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  for (const float temperature : {1.0f, 0.7f}) {
    for (const int64_t A : {1, 2, 6, 8, 16, 63, 64, 65, 700, 5000}) {
      for (const int64_t R : {0, 1, 9}) {
        const Problem problem(R, A, temperature, A);
        const std::vector<float> expected = Reference(problem).All();
        ForEachIsa([&] {
          EXPECT_TRUE(BitEqual(expected, ByKernels(problem, false).All())) << R << " rows of " << A << " actions";
          EXPECT_TRUE(BitEqual(expected, ByKernels(problem, true).All())) << "in place";
          if (R > 0) {
            EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, R * A), ByKernels(problem, false).All()));
          }
        });
      }
    }
  }
}

TEST(CategoricalTest, WithoutGradientsOfEntropyAndDivergenceTheyAreZero) {
  Problem problem(5, 6, 0.7f, 3);
  problem.dentropy_R.assign(5, 0.0f), problem.ddivergence_R.assign(5, 0.0f);
  std::vector<float> z = problem.logits_RA;
  std::vector<RowStatistics> statistics(5);
  const Rows rows = {z.data(), 5, 6};
  MaskLogits({problem.allowed_RA.data(), 5, 6}, rows);
  CategoricalForward(0.7f, rows, statistics.data());
  CategoricalBackward({rows, statistics.data()}, 0.7f, {problem.action_R.data(), problem.dlogprob_R.data()}, rows);
  EXPECT_TRUE(BitEqual(Reference(problem).dlogits_RA, z));
}

// Log-probability of the action, entropy and divergence of each row in double, by the textbook's formulas over the
// allowed actions; weighted, they are the loss.
struct Exact {
  double loss = 0;
  std::vector<double> logprob_R, entropy_R, divergence_R;
};

Exact ExactOf(const Problem& problem, const std::vector<double>& logits_RA) {
  Exact exact;
  const auto log_normaliser = [&](const auto& logits, int64_t r) {
    double sum = 0;
    for (int64_t i = r * problem.A; i < (r + 1) * problem.A; ++i) {
      if (problem.allowed_RA[i] != 0) sum += std::exp(static_cast<double>(logits[i]) / problem.temperature);
    }
    return std::log(sum);
  };
  for (int64_t r = 0; r < problem.R; ++r) {
    const double log_sum = log_normaliser(logits_RA, r), other_log_sum = log_normaliser(problem.reference_RA, r);
    double entropy = 0, divergence = 0;
    for (int64_t i = r * problem.A; i < (r + 1) * problem.A; ++i) {
      if (problem.allowed_RA[i] == 0) continue;
      const double logprob = logits_RA[i] / problem.temperature - log_sum;
      const double other = double{problem.reference_RA[i]} / problem.temperature - other_log_sum;
      entropy -= std::exp(logprob) * logprob;
      divergence += std::exp(logprob) * (logprob - other);
    }
    exact.logprob_R.push_back(logits_RA[r * problem.A + problem.action_R[r]] / problem.temperature - log_sum);
    exact.entropy_R.push_back(entropy);
    exact.divergence_R.push_back(divergence);
    exact.loss += problem.dlogprob_R[r] * exact.logprob_R[r] + problem.dentropy_R[r] * entropy +
                  problem.ddivergence_R[r] * divergence;
  }
  return exact;
}

TEST(CategoricalTest, IsCloseToTheExactValuesAndSlopes) {
  for (const float temperature : {1.0f, 0.7f}) {
    const Problem problem(12, 9, temperature, 4);
    const Outcome outcome = ByKernels(problem, false);
    const std::vector<double> logits(problem.logits_RA.begin(), problem.logits_RA.end());
    const Exact exact = ExactOf(problem, logits);
    for (int64_t r = 0; r < problem.R; ++r) {
      EXPECT_NEAR(outcome.logprob_RA[r * problem.A + problem.action_R[r]], exact.logprob_R[r], 4e-6);
      EXPECT_NEAR(outcome.entropy_R[r], exact.entropy_R[r], 4e-6);
      EXPECT_NEAR(outcome.divergence_R[r], exact.divergence_R[r], 1e-5);
    }
    for (size_t i = 0; i < logits.size(); ++i) {
      constexpr double kStep = 1e-5;
      std::vector<double> up = logits, down = logits;
      up[i] += kStep, down[i] -= kStep;
      const double slope = (ExactOf(problem, up).loss - ExactOf(problem, down).loss) / (2 * kStep);
      EXPECT_NEAR(outcome.dlogits_RA[i], slope, 1e-5) << i;
    }
  }
}

TEST(CategoricalTest, LogitsOfMaskedActionsAffectNothing) {
  Problem problem(20, 6, 0.7f, 5);
  const Outcome before = ByKernels(problem, false);
  uint64_t next = 0;
  for (size_t i = 0; i < problem.allowed_RA.size(); ++i) {
    if (problem.allowed_RA[i] != 0) continue;
    problem.logits_RA[i] = std::vector<float>{NAN, INFINITY, -INFINITY, 1e18f}[next++ % 4];
    EXPECT_EQ(before.dlogits_RA[i], 0.0f);
    EXPECT_EQ(Exp(before.logprob_RA[i]), 0.0f);
  }
  EXPECT_GT(next, 10u);
  EXPECT_TRUE(BitEqual(before.All(), ByKernels(problem, false).All()));
}

TEST(CategoricalTest, OneAllowedActionIsCertain) {
  Problem problem(1, 3, 0.5f, 6);
  problem.allowed_RA = {0, 1, 0};
  problem.action_R = {1};
  const Outcome outcome = ByKernels(problem, false);
  EXPECT_EQ(outcome.logprob_RA[1], 0.0f);
  EXPECT_EQ(outcome.entropy_R[0], 0.0f);
  EXPECT_EQ(outcome.divergence_R[0], 0.0f);
  for (const float d : outcome.dlogits_RA) EXPECT_EQ(d, 0.0f);
}

TEST(CategoricalDeathTest, ARowWithoutAnAllowedActionIsRefused) {
  const std::vector<uint8_t> allowed = {1, 0, 0, 0};
  std::vector<float> logits(4);
  EXPECT_DEATH(MaskLogits({allowed.data(), 2, 2}, {logits.data(), 2, 2}), "has_action");
}

TEST(CategoricalTest, ActionsAreDrawnFromTheAllowedWithTheSameBits) {
  for (const int64_t A : {1, 6, 65, 700}) {
    const Problem problem(200, A, 0.7f, A);
    ForEachIsa([&] {
      const Outcome outcome = ByKernels(problem, false);
      SamplingWorkspace workspace;
      for (int64_t r = 0; r < problem.R; ++r) {
        std::vector<float> logits(problem.logits_RA.begin() + r * A, problem.logits_RA.begin() + (r + 1) * A);
        MaskLogits({problem.allowed_RA.data() + r * A, 1, A}, {logits.data(), 1, A});
        for (const int64_t top_k : {int64_t{0}, A}) {
          const double uniform = r == 0 ? 0.0 : r == 1 ? 1 - 0x1p-53 : static_cast<double>(r) / 200.0;
          std::vector<float> row = logits;
          const SampledToken drawn =
              SampleToken(A, row.data(), {.temperature = 0.7f, .top_k = top_k}, uniform, &workspace);
          EXPECT_EQ(problem.allowed_RA[r * A + drawn.token], 1) << drawn.token << " of row " << r;
          EXPECT_TRUE(BitEqual({outcome.logprob_RA[r * A + drawn.token], outcome.entropy_R[r]},
                               {drawn.logprob, drawn.entropy}));
        }
      }
    });
  }
}

}  // namespace
}  // namespace reprise::kernels
