// Segments that attend to the first rows of their prefix only: branches of a text.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/inference.h"
#include "models/decoder/scoring.h"
#include "models/decoder/testing/reference_decoder.h"
#include "models/decoder/testing/testing.h"

namespace reprise::models {
namespace {

using testing::RandomModel;
using testing::RandomTokens;
using testing::SmallConfig;

// A branch continues the first `prefix` tokens of the text.
struct Branch {
  int64_t prefix;
  std::vector<int32_t> tokens;
};

struct Problem {
  DecoderConfig config = SmallConfig();
  std::vector<int32_t> text = RandomTokens(config, 1, 41);
  std::vector<Branch> branches = {{1, RandomTokens(config, 2, 3)},  {5, RandomTokens(config, 3, 6)},
                                  {5, RandomTokens(config, 4, 1)},  {32, RandomTokens(config, 5, 9)},
                                  {33, RandomTokens(config, 6, 4)}, {41, RandomTokens(config, 7, 5)}};
};

void AppendSegment(const std::vector<int32_t>& tokens, int64_t first_position, const Segment& prefix,
                   PackedBatch* batch) {
  batch->segments.push_back({batch->rows(), static_cast<int64_t>(tokens.size()), prefix.prefix, prefix.prefix_rows});
  for (size_t i = 0; i < tokens.size(); ++i) {
    batch->token_T.push_back(tokens[i]);
    batch->position_T.push_back(static_cast<int32_t>(first_position + static_cast<int64_t>(i)));
  }
}

// The branches [first, last), and the text behind them if `with_text`; else the text is outside.
PackedBatch BatchOf(const Problem& problem, size_t first, size_t last, bool with_text) {
  PackedBatch batch;
  for (size_t b = first; b < last; ++b) {
    const Branch& branch = problem.branches[b];
    const int64_t prefix = with_text ? static_cast<int64_t>(last - first) : kOutsidePrefix;
    AppendSegment(branch.tokens, branch.prefix, {.prefix = prefix, .prefix_rows = branch.prefix}, &batch);
  }
  if (with_text) AppendSegment(problem.text, 0, {}, &batch);
  return batch;
}

std::vector<int32_t> WholeSequence(const Problem& problem, const Branch& branch) {
  std::vector<int32_t> whole(problem.text.begin(), problem.text.begin() + branch.prefix);
  whole.insert(whole.end(), branch.tokens.begin(), branch.tokens.end());
  return whole;
}

TEST(BranchTest, HasTheBitsOfTheSequenceThatItContinues) {
  const Problem problem;
  const std::unique_ptr<Model> model = RandomModel(problem.config, 5);
  Activations together(problem.config, true), alone(problem.config, true);
  Forward(model->decoder(), BatchOf(problem, 0, problem.branches.size(), true), nullptr, &together);
  const int64_t width = problem.config.hidden_size;
  int64_t row = 0;
  for (const Branch& branch : problem.branches) {
    const std::vector<int32_t> whole = WholeSequence(problem, branch);
    Forward(model->decoder(), testing::SequenceBatch(whole), nullptr, &alone);
    for (size_t i = 0; i < branch.tokens.size(); ++i, ++row) {
      const int64_t at = branch.prefix + static_cast<int64_t>(i);
      EXPECT_EQ(std::memcmp(together.hidden_TD()[row], alone.hidden_TD()[at], static_cast<size_t>(width) * 4), 0)
          << branch.prefix << " + " << i;
    }
  }
}

TEST(BranchTest, HasTheSameBitsFromCaches) {
  const Problem problem;
  const std::unique_ptr<Model> model = RandomModel(problem.config, 5);
  Activations expected(problem.config, true), workspace(problem.config, false);
  Forward(model->decoder(), BatchOf(problem, 0, problem.branches.size(), true), nullptr, &expected);
  KeyValueCache text(problem.config, static_cast<int64_t>(problem.text.size()));
  CachedBatch prefill;
  prefill.runs.push_back({0, static_cast<int64_t>(problem.text.size()), &text});
  prefill.rows = testing::SequenceBatch(problem.text);
  ForwardCached(model->decoder(), prefill, &workspace, nullptr);
  // All branches in one batch, token by token.
  std::vector<std::unique_ptr<KeyValueCache>> own;
  for (size_t b = 0; b < problem.branches.size(); ++b) {
    own.push_back(std::make_unique<KeyValueCache>(problem.config, 9));
  }
  for (size_t t = 0; t < 9; ++t) {
    CachedBatch batch;
    std::vector<int64_t> expected_rows;
    int64_t first_row = 0;
    for (size_t b = 0; b < problem.branches.size(); ++b) {
      const Branch& branch = problem.branches[b];
      const int64_t begin = first_row;
      first_row += static_cast<int64_t>(branch.tokens.size());
      if (t >= branch.tokens.size()) continue;
      batch.runs.push_back({batch.rows.rows(), 1, own[b].get(), &text, branch.prefix});
      batch.rows.token_T.push_back(branch.tokens[t]);
      batch.rows.position_T.push_back(static_cast<int32_t>(branch.prefix + static_cast<int64_t>(t)));
      expected_rows.push_back(begin + static_cast<int64_t>(t));
    }
    ForwardCached(model->decoder(), batch, &workspace, nullptr);
    for (size_t i = 0; i < expected_rows.size(); ++i) {
      const size_t bytes = static_cast<size_t>(problem.config.hidden_size) * sizeof(float);
      EXPECT_EQ(
          std::memcmp(workspace.hidden_TD()[static_cast<int64_t>(i)], expected.hidden_TD()[expected_rows[i]], bytes), 0)
          << t;
    }
  }
}

// L = sum over rows of w log p(next token), of all branches and the text.
float WeightOf(int64_t row) { return 0.3f * static_cast<float>(row % 5) - 0.5f; }

class Accumulation {
 public:
  Accumulation(const Problem& problem, const Model& model)
      : config_(problem.config),
        model_(model),
        total_(static_cast<size_t>(model.layout().total), 0.0f),
        open_(total_.size()) {
    StartShard(config_, model.layout(), total_.data(), open_.data(), &gradient_);
  }

  // Runs one batch backward; `activations` were computed from it.
  void Add(Activations* activations, Activations* outside, bool last) {
    const PackedBatch& batch = activations->batch();
    ScoredRows scored;
    std::vector<float> dlogprob;
    for (const Segment& segment : batch.segments) {
      for (int64_t i = 0; i + 1 < segment.rows; ++i, ++scored_) {
        scored.Add(segment.begin + i, &batch.token_T[segment.begin + i + 1], 1);
        dlogprob.push_back(WeightOf(scored_));
      }
    }
    ScoreForward(model_.decoder(), *activations, scored, 1.0f, &buffers_);
    std::vector<float> dhidden(static_cast<size_t>(batch.rows() * config_.hidden_size));
    const GradientTarget target = {&gradient_, nullptr, last};
    ScoreBackward(model_.decoder(), *activations, scored, {.dlogprob = dlogprob.data()}, &buffers_, dhidden.data(),
                  target);
    Backward(model_.decoder(), {}, activations, outside, dhidden.data(), target);
  }

  const std::vector<float>& total() const { return total_; }

 private:
  const DecoderConfig config_;
  const Model& model_;
  std::vector<float> total_, open_;
  ShardGradient gradient_;
  ScoreBuffers buffers_;
  int64_t scored_ = 0;
};

std::vector<float> GradientInOneBatch(const Problem& problem, const Model& model, bool recompute = false) {
  Activations activations(problem.config, true, recompute);
  Accumulation sum(problem, model);
  Forward(model.decoder(), BatchOf(problem, 0, problem.branches.size(), true), nullptr, &activations);
  sum.Add(&activations, nullptr, /*last=*/true);
  return sum.total();
}

TEST(BranchTest, GradientHasTheSameBitsForAnyDivisionIntoBatches) {
  const Problem problem;
  const std::unique_ptr<Model> model = RandomModel(problem.config, 11);
  const std::vector<float> expected = GradientInOneBatch(problem, *model);
  EXPECT_EQ(GradientInOneBatch(problem, *model, /*recompute=*/true), expected);
  for (const size_t per_batch : {1, 2, 4}) {
    Activations text(problem.config, true), branches(problem.config, true);
    Accumulation sum(problem, *model);
    Forward(model->decoder(), testing::SequenceBatch(problem.text), nullptr, &text);
    for (size_t b = 0; b < problem.branches.size(); b += per_batch) {
      const size_t end = std::min(b + per_batch, problem.branches.size());
      Forward(model->decoder(), BatchOf(problem, b, end, false), &text, &branches);
      sum.Add(&branches, &text, /*last=*/false);
    }
    sum.Add(&text, nullptr, /*last=*/true);
    EXPECT_EQ(sum.total(), expected) << per_batch;
  }
}

double Loss(const Problem& problem, const DecoderLayout& layout, const std::vector<double>& parameters) {
  double loss = 0;
  int64_t scored = 0;
  const auto add = [&](const std::vector<int32_t>& whole, size_t first) {
    const auto out = testing::ReferenceForward(problem.config, layout, parameters, whole, 1.0);
    for (size_t t = first; t + 1 < whole.size(); ++t, ++scored) {
      const size_t target = static_cast<size_t>(whole[t + 1]);
      loss += static_cast<double>(WeightOf(scored)) *
              out.logprob_TV[t * static_cast<size_t>(problem.config.vocab_size) + target];
    }
  };
  for (const Branch& branch : problem.branches) add(WholeSequence(problem, branch), static_cast<size_t>(branch.prefix));
  add(problem.text, 0);
  return loss;
}

TEST(BranchTest, GradientAgreesWithCentralDifferencesInEveryTensor) {
  Problem problem;
  problem.text.resize(9);
  problem.branches = {{1, RandomTokens(problem.config, 2, 3)},
                      {5, RandomTokens(problem.config, 3, 4)},
                      {8, RandomTokens(problem.config, 4, 3)}};
  const std::unique_ptr<Model> model = RandomModel(problem.config, 11);
  const std::vector<float> gradient = GradientInOneBatch(problem, *model);
  std::vector<double> parameters(model->parameters().begin(), model->parameters().end());
  for (const ParameterSpec& spec : model->layout().specs) {
    double largest = 0;
    for (int64_t i = 0; i < spec.size; ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(gradient[spec.offset + i])));
    }
    for (int64_t i = 0; i < spec.size; i += std::max<int64_t>(1, (spec.size - 1) / 4)) {
      const size_t at = static_cast<size_t>(spec.offset + i);
      const double value = parameters[at], h = 1e-5;
      parameters[at] = value + h;
      const double above = Loss(problem, model->layout(), parameters);
      parameters[at] = value - h;
      const double below = Loss(problem, model->layout(), parameters);
      parameters[at] = value;
      EXPECT_NEAR(gradient[at], (above - below) / (2 * h), std::max(1e-5 * largest, 4e-6))
          << spec.name << " element " << i;
    }
  }
}

}  // namespace
}  // namespace reprise::models
