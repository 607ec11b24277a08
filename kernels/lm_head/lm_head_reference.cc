#include "kernels/lm_head/lm_head_reference.h"

#include <algorithm>
#include <cmath>

#include "kernels/math/vector_math.h"
#include "kernels/products/products.h"
#include "kernels/products/reference.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::testing {

using kernels::RowStatistics;

namespace {

std::vector<float> Logits(const HeadProblem& problem, const std::vector<float>& hidden_RD,
                          const std::vector<float>& w_VD) {
  std::vector<float> z = kernels::ReferenceForward(problem.R, problem.V, problem.D, hidden_RD.data(), w_VD.data());
  for (int64_t r = 0; r < problem.R; ++r) {
    for (int64_t v = 0; v < problem.V; ++v) z[r * problem.V + v] = z[r * problem.V + v] / problem.TemperatureOf(r);
  }
  return z;
}

std::vector<float> LogitsOf(const HeadProblem& problem) { return Logits(problem, problem.hidden_RD, problem.w_VD); }
std::vector<float> ReferenceLogitsOf(const HeadProblem& problem) {
  return Logits(problem, problem.reference_hidden_RD, problem.reference_w_VD);
}

// The reference as a separate problem, without targets.
HeadProblem ReferenceAlone(const HeadProblem& problem) {
  HeadProblem alone = problem;
  alone.target.clear();
  alone.hidden_RD = problem.reference_hidden_RD;
  alone.w_VD = problem.reference_w_VD;
  alone.first_target.assign(problem.R + 1, 0);
  return alone;
}

// Returns l_v of the row with logits z.
std::vector<float> LogprobsOfRow(const float* z, int64_t vocabulary) {
  const RowStatistics statistics = kernels::StatisticsOfRow(vocabulary, z);
  std::vector<float> logprob_V;
  for (int64_t v = 0; v < vocabulary; ++v) logprob_V.push_back((z[v] - statistics.max) - statistics.log_sum);
  return logprob_V;
}

std::vector<float> WithStride(const std::vector<float>& rows, int64_t width, int64_t stride) {
  const int64_t count = static_cast<int64_t>(rows.size()) / width;
  std::vector<float> strided(count * stride, NAN);
  for (int64_t r = 0; r < count; ++r) std::copy_n(&rows[r * width], width, &strided[r * stride]);
  return strided;
}

std::vector<float> Packed(const HeadProblem& problem) {
  std::vector<float> packed(kernels::PackedSize(problem.V, problem.D));
  kernels::PackForward(problem.w_VD.data(), problem.V, problem.D, packed.data(), 0, kernels::Panels(problem.V));
  return packed;
}

std::vector<RowStatistics> KernelStatistics(const HeadProblem& problem, std::vector<float>* logprob) {
  const int64_t stride = problem.D + 3;
  std::vector<RowStatistics> statistics(problem.R);
  std::vector<float> scratch(kernels::LmHeadScratch(problem.R, problem.V), NAN);
  logprob->assign(problem.target.size(), NAN);
  const std::vector<float> hidden = WithStride(problem.hidden_RD, problem.D, stride);
  const std::vector<float> packed = Packed(problem);
  kernels::LmHeadForward({{hidden.data(), problem.R, problem.D, stride},
                          problem.V,
                          packed.data(),
                          problem.temperature,
                          problem.Targets(),
                          {},
                          problem.temperature_R.empty() ? nullptr : problem.temperature_R.data()},
                         logprob->data(), statistics.data(), scratch.data());
  return statistics;
}

std::vector<float> Flat(const std::vector<RowStatistics>& statistics) {
  std::vector<float> flat;
  for (const RowStatistics& row : statistics) flat.insert(flat.end(), {row.max, row.log_sum, row.sum, row.entropy});
  return flat;
}

}  // namespace

HeadProblem RandomProblem(int64_t R, int64_t V, int64_t D, float temperature, uint64_t seed) {
  HeadProblem problem{R,
                      V,
                      D,
                      temperature,
                      RandomFloats(R * D, 8 * seed, -2, 2),
                      RandomFloats(V * D, 8 * seed + 1),
                      {0},
                      {},
                      {},
                      RandomFloats(R, 8 * seed + 2)};
  constexpr int kCounts[] = {1, 0, 3};
  for (int64_t r = 0; r < R; ++r) {
    for (int i = 0; i < kCounts[r % 3]; ++i) {
      problem.target.push_back(static_cast<int32_t>(RandomBelow(V, 8 * seed + 3, problem.target.size())));
    }
    problem.first_target.push_back(static_cast<int64_t>(problem.target.size()));
  }
  problem.dlogprob = RandomFloats(static_cast<int64_t>(problem.target.size()), 8 * seed + 4);
  return problem;
}

HeadProblem WithReference(HeadProblem problem, float distance, uint64_t seed) {
  const auto away = [&](std::vector<float> values, uint64_t of) {
    const std::vector<float> by = RandomFloats(static_cast<int64_t>(values.size()), 8 * seed + of, -distance, distance);
    for (size_t i = 0; i < values.size(); ++i) values[i] += by[i];
    return values;
  };
  problem.reference_hidden_RD = away(problem.hidden_RD, 5);
  problem.reference_w_VD = away(problem.w_VD, 6);
  problem.ddivergence_R = RandomFloats(problem.R, 8 * seed + 7);
  for (int64_t r = 1; r < problem.R; r += 4) problem.ddivergence_R[r] = 0;
  return problem;
}

std::vector<float> ReferenceHeadDivergence(const HeadProblem& problem) {
  const std::vector<float> z = LogitsOf(problem), reference_z = ReferenceLogitsOf(problem);
  std::vector<float> divergence_R;
  for (int64_t r = 0; r < problem.R; ++r) {
    const std::vector<float> logprob_V = LogprobsOfRow(&z[r * problem.V], problem.V);
    const std::vector<float> other_V = LogprobsOfRow(&reference_z[r * problem.V], problem.V);
    double sum = 0;
    const std::vector<float>&p_V = problem.from_reference ? other_V : logprob_V,
          &q_V = problem.from_reference ? logprob_V : other_V;
    for (int64_t first = 0; first < problem.V; first += kernels::kVocabularyChunk) {
      float lane[64] = {};
      for (int64_t v = first; v < std::min(problem.V, first + kernels::kVocabularyChunk); ++v) {
        lane[v % 64] = std::fma(kernels::Exp(p_V[v]), p_V[v] - q_V[v], lane[v % 64]);
      }
      for (int w = 32; w > 0; w /= 2) {
        for (int i = 0; i < w; ++i) lane[i] += lane[i + w];
      }
      sum += static_cast<double>(lane[0]);
    }
    divergence_R.push_back(static_cast<float>(std::max(sum, 0.0)));
  }
  return divergence_R;
}

HeadProblem RowsOf(const HeadProblem& problem, int64_t begin, int64_t end) {
  HeadProblem rows{end - begin, problem.V, problem.D, problem.temperature, {}, problem.w_VD, {}, {}, {}, {}};
  const int64_t first = problem.first_target[begin], last = problem.first_target[end];
  rows.hidden_RD.assign(problem.hidden_RD.begin() + begin * problem.D, problem.hidden_RD.begin() + end * problem.D);
  for (int64_t r = begin; r <= end; ++r) rows.first_target.push_back(problem.first_target[r] - first);
  rows.target.assign(problem.target.begin() + first, problem.target.begin() + last);
  rows.dlogprob.assign(problem.dlogprob.begin() + first, problem.dlogprob.begin() + last);
  if (!problem.dentropy_R.empty()) {
    rows.dentropy_R.assign(problem.dentropy_R.begin() + begin, problem.dentropy_R.begin() + end);
  }
  if (!problem.temperature_R.empty()) {
    rows.temperature_R.assign(problem.temperature_R.begin() + begin, problem.temperature_R.begin() + end);
  }
  if (problem.ddivergence_R.empty()) return rows;
  rows.reference_hidden_RD.assign(problem.reference_hidden_RD.begin() + begin * problem.D,
                                  problem.reference_hidden_RD.begin() + end * problem.D);
  rows.reference_w_VD = problem.reference_w_VD;
  rows.ddivergence_R.assign(problem.ddivergence_R.begin() + begin, problem.ddivergence_R.begin() + end);
  return rows;
}

HeadOutputs ReferenceHeadForward(const HeadProblem& problem) {
  const std::vector<float> z = LogitsOf(problem);
  HeadOutputs outputs;
  std::vector<RowStatistics> statistics;
  for (int64_t r = 0; r < problem.R; ++r) {
    statistics.push_back(kernels::StatisticsOfRow(problem.V, &z[r * problem.V]));
    for (int64_t i = problem.first_target[r]; i < problem.first_target[r + 1]; ++i) {
      outputs.logprob.push_back((z[r * problem.V + problem.target[i]] - statistics[r].max) - statistics[r].log_sum);
    }
  }
  outputs.statistics_R4 = Flat(statistics);
  return outputs;
}

namespace {

std::vector<float> TrainedRows(const HeadProblem& problem, const std::vector<float>& dw_VD) {
  return {dw_VD.begin() + problem.first_trained * problem.D, dw_VD.end()};
}

}  // namespace

HeadGradients ReferenceHeadBackward(const HeadProblem& problem) {
  std::vector<float> dz = LogitsOf(problem);
  const bool has_reference = !problem.ddivergence_R.empty();
  const std::vector<float> divergence_R = has_reference ? ReferenceHeadDivergence(problem) : std::vector<float>();
  const std::vector<float> reference_z = has_reference ? ReferenceLogitsOf(problem) : std::vector<float>();
  for (int64_t r = 0; r < problem.R; ++r) {
    float* row = &dz[r * problem.V];
    const bool with_divergence = has_reference && problem.ddivergence_R[r] != 0;
    const std::vector<float> other_V =
        with_divergence ? LogprobsOfRow(&reference_z[r * problem.V], problem.V) : std::vector<float>();
    const RowStatistics statistics = kernels::StatisticsOfRow(problem.V, row);
    double sum = 0;
    for (int64_t i = problem.first_target[r]; i < problem.first_target[r + 1]; ++i) sum += problem.dlogprob[i];
    for (int64_t v = 0; v < problem.V; ++v) {
      const float logprob = (row[v] - statistics.max) - statistics.log_sum;
      const float p = kernels::Exp(logprob);
      row[v] = -static_cast<float>(sum) * p;
      for (int64_t i = problem.first_target[r]; i < problem.first_target[r + 1]; ++i) {
        if (problem.target[i] == v) row[v] += problem.dlogprob[i];
      }
      if (!problem.dentropy_R.empty() && problem.dentropy_R[r] != 0)
        row[v] += -problem.dentropy_R[r] * p * (logprob + statistics.entropy);
      if (with_divergence && problem.from_reference) {
        row[v] += problem.ddivergence_R[r] * (p - kernels::Exp(other_V[v]));
      } else if (with_divergence) {
        row[v] += problem.ddivergence_R[r] * p * ((logprob - other_V[v]) - divergence_R[r]);
      }
      row[v] = row[v] / problem.TemperatureOf(r);
    }
  }
  return {kernels::ReferenceInput(problem.R, problem.V, problem.D, dz.data(), problem.w_VD.data()),
          TrainedRows(problem,
                      kernels::ReferenceWeight(problem.R, problem.V, problem.D, dz.data(), problem.hidden_RD.data()))};
}

HeadOutputs KernelHeadForward(const HeadProblem& problem) {
  HeadOutputs outputs;
  outputs.statistics_R4 = Flat(KernelStatistics(problem, &outputs.logprob));
  return outputs;
}

std::vector<float> KernelHeadDivergence(const HeadProblem& problem) {
  const HeadProblem reference = ReferenceAlone(problem);
  std::vector<float> logprob, none, divergence_R(problem.R, NAN);
  const std::vector<RowStatistics> statistics = KernelStatistics(problem, &logprob);
  const std::vector<RowStatistics> reference_statistics = KernelStatistics(reference, &none);
  const std::vector<float> packed = Packed(problem), reference_packed = Packed(reference);
  std::vector<float> scratch(kernels::HeadDivergenceScratch(problem.R, problem.V), NAN);
  kernels::HeadRows of = {{problem.hidden_RD.data(), problem.R, problem.D}, packed.data(), statistics.data()},
                    from = {{reference.hidden_RD.data(), problem.R, problem.D},
                            reference_packed.data(),
                            reference_statistics.data()};
  if (problem.from_reference) std::swap(of, from);
  kernels::HeadDivergence(problem.V, of, from, problem.temperature, divergence_R.data(), scratch.data());
  return divergence_R;
}

HeadGradients KernelHeadBackward(const HeadProblem& problem, const std::vector<int64_t>& calls) {
  const int64_t stride = problem.D + 3;
  std::vector<float> logprob;
  const std::vector<RowStatistics> statistics = KernelStatistics(problem, &logprob);
  const std::vector<float> w_packed = Packed(problem);
  std::vector<float> w_transposed(kernels::PackedSize(problem.D, problem.V));
  kernels::PackTransposed(problem.w_VD.data(), problem.V, problem.D, w_transposed.data(), 0,
                          kernels::Panels(problem.D));
  HeadGradients gradients{{}, std::vector<float>((problem.V - problem.first_trained) * problem.D, NAN)};
  std::vector<float> open(gradients.dw_VD.size(), NAN);
  const bool has_reference = !problem.ddivergence_R.empty();
  std::vector<float> divergence_R, reference_packed;
  std::vector<RowStatistics> reference_statistics;
  if (has_reference) {
    divergence_R = KernelHeadDivergence(problem);
    reference_packed = Packed(ReferenceAlone(problem));
    reference_statistics = KernelStatistics(ReferenceAlone(problem), &logprob);
  }
  int64_t begin = 0;
  for (size_t c = 0; c < calls.size(); begin += calls[c++]) {
    const HeadProblem rows = RowsOf(problem, begin, begin + calls[c]);
    const std::vector<float> hidden = WithStride(rows.hidden_RD, problem.D, stride);
    std::vector<float> dhidden(rows.R * stride, NAN);
    std::vector<float> scratch(kernels::LmHeadBackwardScratch(rows.R, problem.D, problem.V, has_reference), NAN);
    const kernels::DivergenceGradient divergence = {{{rows.reference_hidden_RD.data(), rows.R, problem.D},
                                                     reference_packed.data(),
                                                     reference_statistics.data() + begin},
                                                    divergence_R.data() + begin,
                                                    rows.ddivergence_R.data(),
                                                    problem.from_reference};
    kernels::LmHeadBackward(
        {{hidden.data(), rows.R, problem.D, stride},
         problem.V,
         w_packed.data(),
         problem.temperature,
         rows.Targets(),
         w_transposed.data(),
         rows.temperature_R.empty() ? nullptr : rows.temperature_R.data(),
         problem.first_trained},
        statistics.data() + begin,
        {rows.dlogprob.data(), rows.dentropy_R.empty() ? nullptr : rows.dentropy_R.data(),
         has_reference ? &divergence : nullptr},
        {dhidden.data(), rows.R, problem.D, stride},
        {gradients.dw_VD.data(), calls.size() == 1 ? nullptr : open.data(), begin, c + 1 == calls.size()},
        scratch.data());
    for (int64_t r = 0; r < rows.R; ++r) {
      gradients.dhidden_RD.insert(gradients.dhidden_RD.end(), &dhidden[r * stride], &dhidden[r * stride] + problem.D);
    }
  }
  return gradients;
}

namespace {

std::vector<double> ExactLogprobs(const HeadProblem& problem, const std::vector<float>& hidden_RD,
                                  const std::vector<float>& w_VD, int64_t r) {
  std::vector<double> z(problem.V);
  for (int64_t v = 0; v < problem.V; ++v) {
    for (int64_t c = 0; c < problem.D; ++c) {
      z[v] += static_cast<double>(hidden_RD[r * problem.D + c]) * w_VD[v * problem.D + c];
    }
    z[v] /= problem.TemperatureOf(r);
  }
  const double max = *std::max_element(z.begin(), z.end());
  double sum = 0;
  for (const double value : z) sum += std::exp(value - max);
  for (double& value : z) value -= max + std::log(sum);
  return z;
}

}  // namespace

HeadOracle OracleOf(const HeadProblem& problem) {
  HeadOracle oracle;
  for (int64_t r = 0; r < problem.R; ++r) {
    const std::vector<double> logprob_V = ExactLogprobs(problem, problem.hidden_RD, problem.w_VD, r);
    double entropy = 0, divergence = 0;
    for (const double logprob : logprob_V) entropy -= std::exp(logprob) * logprob;
    oracle.entropy_R.push_back(entropy);
    if (!problem.dentropy_R.empty()) oracle.objective += problem.dentropy_R[r] * entropy;
    for (int64_t i = problem.first_target[r]; i < problem.first_target[r + 1]; ++i) {
      oracle.logprob.push_back(logprob_V[problem.target[i]]);
      oracle.objective += problem.dlogprob[i] * oracle.logprob[i];
    }
    if (problem.ddivergence_R.empty()) continue;
    const std::vector<double> other_V = ExactLogprobs(problem, problem.reference_hidden_RD, problem.reference_w_VD, r);
    for (size_t v = 0; v < other_V.size(); ++v) {
      const double p = problem.from_reference ? other_V[v] : logprob_V[v], q = logprob_V[v] + other_V[v] - p;
      divergence += std::exp(p) * (p - q);
    }
    oracle.divergence_R.push_back(divergence);
    oracle.objective += problem.ddivergence_R[r] * divergence;
  }
  return oracle;
}

}  // namespace reprise::testing
