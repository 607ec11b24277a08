#include "models/quiet_star/thought_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/parameters.h"
#include "models/decoder/testing/testing.h"
#include "models/quiet_star/memory.h"
#include "models/quiet_star/thinking_tokens.h"
#include "models/quiet_star/thought_testing.h"

namespace reprise::models {
namespace {

using testing::RandomThoughtModel;
using testing::ReferenceScores;
using testing::ReferenceScoresOf;
using testing::SmallConfig;
using testing::ThoughtExamples;

const ThoughtHeadsShape kShape = {.has_values = true, .value_hidden = {6, 5}, .values_train_decoder = true};

ThoughtPassOptions OptionsOf(const ThoughtModel& model) {
  return {.delimiters = DelimitersOf(model.config()), .tokens_ahead = 3, .temperature = 1.5f};
}

float WeightOf(size_t kind, size_t i) { return 0.1f * static_cast<float>((3 * kind + 2 * i) % 7) - 0.25f; }

// L = the sum of all scores, each times a weight, plus half the squares of the values.
template <typename Scores, typename Number>
Number LossOf(const Scores& scores) {
  Number loss = 0;
  size_t kind = 0;
  for (const auto* const part : {&scores.logprob_T, &scores.entropy_T, &scores.mixed_logprob_A, &scores.mixed_entropy_A,
                                 &scores.base_logprob_S, &scores.base_entropy_S}) {
    for (size_t i = 0; i < part->size(); ++i) loss += static_cast<Number>(WeightOf(kind, i)) * (*part)[i];
    ++kind;
  }
  for (const Number value : scores.value_M) loss += value * value / 2;
  return loss;
}

void SetGradients(const ThoughtScores& scores, ThoughtGradients* gradients) {
  size_t kind = 0;
  for (std::vector<float>* const part :
       {&gradients->dlogprob_T, &gradients->dentropy_T, &gradients->dmixed_logprob_A, &gradients->dmixed_entropy_A,
        &gradients->dbase_logprob_S, &gradients->dbase_entropy_S}) {
    for (size_t i = 0; i < part->size(); ++i) (*part)[i] = WeightOf(kind, i);
    ++kind;
  }
  gradients->dvalue_M = scores.value_M;
}

struct Settings {
  int64_t max_rows = 0;
  bool recompute = false;
  const Decoder* reference = nullptr;
  bool from_reference = false;
  float delimiter_weight = 1;
  Team team = Team();
  bool balances = false;  // whether load balancing is in the loss
  bool with_values = true;
  bool drops = false;
};

struct Outcome {
  std::vector<float> gradient;
  std::vector<ThoughtScores> scores;
  ThoughtPassResult result;
  std::map<int, int> finished;
  int64_t bytes = 0;  // of activations
};

Outcome Accumulate(const ThoughtModel& model, absl::Span<const ThoughtfulText> texts, const Settings& settings = {}) {
  Outcome outcome;
  ThoughtWorkspace work(model.config(), settings.max_rows, settings.recompute, settings.team);
  std::vector<float> total(static_cast<size_t>(model.layout().total), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> open = total;
  ThoughtPassOptions options = OptionsOf(model);
  options.delimiter_gradient_weight = settings.delimiter_weight;
  options.divergence_from_reference = settings.from_reference;
  if (settings.drops) options.dropout = {.seed = 7, .step = 3};
  const ThoughtLoss loss = [&](int64_t text, const ThoughtScores& scores, ThoughtGradients* gradients) {
    EXPECT_EQ(text, static_cast<int64_t>(outcome.scores.size()));
    outcome.scores.push_back(scores);
    SetGradients(scores, gradients);
    if (!settings.with_values) std::ranges::fill(gradients->dvalue_M, 0.0f);
    for (size_t i = 0; i < gradients->ddivergence_T.size(); ++i) gradients->ddivergence_T[i] = WeightOf(6, i);
    return absl::OkStatus();
  };
  AuxiliaryGradient auxiliary_E;
  for (int64_t e = 0; settings.balances && e < model.config().num_experts; ++e) {
    auxiliary_E.push_back(0.1f * static_cast<float>(e) - 0.2f);
  }
  const ThoughtPassTarget target = {total.data(), settings.max_rows == 0 ? nullptr : open.data(),
                                    [&](int spec) { ++outcome.finished[spec]; }};
  const auto result = AccumulateThoughts({model.decoder(), model.heads()}, texts, options,
                                         {settings.reference, auxiliary_E, loss}, target, &work);
  EXPECT_OK(result);
  outcome.result = *result;
  outcome.bytes = work.activation_bytes();
  for (const ParameterSpec& spec : model.layout().specs) {  // without the padding
    outcome.gradient.insert(outcome.gradient.end(), total.begin() + spec.offset,
                            total.begin() + spec.offset + spec.size);
  }
  return outcome;
}

template <typename Numbers>
void ExpectNear(const std::vector<float>& actual, const Numbers& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

TEST(ThoughtPassTest, ScoresAgreeWithThoughtsAsSequencesOfTheirOwnInDouble) {
  for (const int variant : {0, 1, 2}) {
    ThoughtHeadsShape shape = kShape;
    shape.bounded = variant == 1;
    if (variant == 2) shape.mixing = Mixing::kAttention;
    const auto model = RandomThoughtModel(SmallConfig(), shape, 3);
    const ThoughtExamples examples(SmallConfig(), {7, 2, 9});
    const Outcome outcome = Accumulate(*model, examples.texts());
    const std::vector<double> parameters(model->parameters().begin(), model->parameters().end());
    ASSERT_EQ(outcome.scores.size(), 3u);
    for (size_t t = 0; t < 3; ++t) {
      const ReferenceScores expected = ReferenceScoresOf(*model, parameters, examples.texts()[t], OptionsOf(*model));
      const ThoughtScores& scores = outcome.scores[t];
      ExpectNear(scores.logprob_T, expected.logprob_T, 2e-5);
      ExpectNear(scores.entropy_T, expected.entropy_T, 2e-5);
      ExpectNear(scores.mixed_logprob_A, expected.mixed_logprob_A, 4e-5);
      ExpectNear(scores.mixed_entropy_A, expected.mixed_entropy_A, 4e-5);
      ExpectNear(scores.weight_A, expected.weight_A, 2e-5);
      ExpectNear(scores.base_logprob_S, expected.base_logprob_S, 2e-5);
      ExpectNear(scores.base_entropy_S, expected.base_entropy_S, 2e-5);
      ExpectNear(scores.value_M, expected.value_M, 2e-5);
      ExpectNear(scores.coherence_K, expected.coherence_K, 2e-5);
      EXPECT_EQ(scores.coherence_K.empty(), variant < 2 || examples.texts()[t].thoughts.empty());
    }
  }
}

class ThoughtGradientTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Variants, ThoughtGradientTest, ::testing::Values(0, 1, 2));

TEST_P(ThoughtGradientTest, AgreesWithCentralDifferencesInEveryTensor) {
  DecoderConfig config = SmallConfig();
  ThoughtHeadsShape shape = kShape;
  shape.bounded = config.tie_word_embeddings = GetParam() == 1;
  if (GetParam() == 2) shape.mixing = Mixing::kAttention;
  const auto model = RandomThoughtModel(config, shape, 3);
  const ThoughtExamples examples(config, {4, 3});
  const Outcome outcome = Accumulate(*model, examples.texts());
  std::vector<double> parameters(model->parameters().begin(), model->parameters().end());
  const auto loss = [&] {
    double sum = 0;
    for (const ThoughtfulText& text : examples.texts()) {
      sum += LossOf<ReferenceScores, double>(ReferenceScoresOf(*model, parameters, text, OptionsOf(*model)));
    }
    return sum;
  };
  size_t first = 0;
  for (const ParameterSpec& spec : model->layout().specs) {
    double largest = 0;
    for (int64_t i = 0; i < spec.size; ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(outcome.gradient[first + static_cast<size_t>(i)])));
    }
    const bool is_head = !spec.name.starts_with("model.") && !spec.name.starts_with("lm_head");
    EXPECT_TRUE(!is_head || largest > 0) << spec.name;
    for (int64_t i = 0; i < spec.size; i += std::max<int64_t>(1, (spec.size - 1) / 2)) {
      double& x = parameters[spec.offset + i];
      const double middle = x, h = 1e-5;
      x = middle + h;
      const double above = loss();
      x = middle - h;
      const double below = loss();
      x = middle;
      EXPECT_NEAR(outcome.gradient[first + static_cast<size_t>(i)], (above - below) / (2 * h),
                  std::max(2e-5 * largest, 1e-5))
          << spec.name << " element " << i;
    }
    first += static_cast<size_t>(spec.size);
  }
}

bool SameScores(const ThoughtScores& a, const ThoughtScores& b) {
  return a.logprob_T == b.logprob_T && a.entropy_T == b.entropy_T && a.divergence_T == b.divergence_T &&
         a.mixed_logprob_A == b.mixed_logprob_A && a.mixed_correct_A == b.mixed_correct_A && a.weight_A == b.weight_A &&
         a.base_logprob_S == b.base_logprob_S && a.base_correct_S == b.base_correct_S && a.value_M == b.value_M;
}

class ThoughtBatchesTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(MixingHeads, ThoughtBatchesTest, ::testing::Bool());

TEST_P(ThoughtBatchesTest, NoDivisionIntoBatchesAndNoThreadsChangeABit) {
  ThoughtHeadsShape shape = kShape;
  if (GetParam()) shape.mixing = Mixing::kAttention;
  const auto model = RandomThoughtModel(SmallConfig(), shape, 3), other = RandomThoughtModel(SmallConfig(), shape, 4);
  const ThoughtExamples examples(SmallConfig(), {7, 2, 13, 9});
  const Settings whole = {.reference = &other->decoder(), .balances = true, .drops = true};
  const Outcome expected = Accumulate(*model, examples.texts(), whole);
  EXPECT_EQ(expected.result.batches, 1);
  ThreadPool pool(3);
  for (const int64_t max_rows : {1, 15, 40, 64, 100}) {
    for (const bool recompute : {false, true}) {
      if (recompute && max_rows != 40) continue;
      Settings settings = whole;
      settings.max_rows = max_rows;
      settings.recompute = recompute;
      if (recompute) settings.team = Team(pool);
      const Outcome outcome = Accumulate(*model, examples.texts(), settings);
      EXPECT_GT(outcome.result.batches, 1);
      EXPECT_EQ(outcome.result.cut_texts > 0, max_rows < 100);
      EXPECT_EQ(outcome.gradient, expected.gradient) << max_rows;
      EXPECT_EQ(outcome.result.probability_sum_E, expected.result.probability_sum_E);
      EXPECT_EQ(outcome.result.largest_logit_LH, expected.result.largest_logit_LH);
      EXPECT_EQ(outcome.result.thought_rows, expected.result.thought_rows);
      ASSERT_EQ(outcome.scores.size(), expected.scores.size());
      for (size_t t = 0; t < outcome.scores.size(); ++t) {
        EXPECT_TRUE(SameScores(outcome.scores[t], expected.scores[t])) << max_rows << " text " << t;
      }
    }
  }
  // The comparison notices another order of texts.
  std::vector<ThoughtfulText> reversed(examples.texts().rbegin(), examples.texts().rend());
  EXPECT_NE(Accumulate(*model, reversed, whole).gradient, expected.gradient);
}

TEST(ThoughtPassTest, DropoutOfTheAttentionHeadIsAFunctionOfItsDraws) {
  ThoughtHeadsShape shape = kShape;
  shape.mixing = Mixing::kAttention;
  shape.dropout = 0.5;
  const auto model = RandomThoughtModel(SmallConfig(), shape, 3);
  const ThoughtExamples examples(SmallConfig(), {7});
  const Outcome none = Accumulate(*model, examples.texts()),
                some = Accumulate(*model, examples.texts(), {.drops = true}),
                again = Accumulate(*model, examples.texts(), {.drops = true});
  EXPECT_NE(some.scores[0].mixed_logprob_A, none.scores[0].mixed_logprob_A);
  EXPECT_EQ(some.scores[0].mixed_logprob_A, again.scores[0].mixed_logprob_A);
  EXPECT_EQ(some.gradient, again.gradient);
  EXPECT_EQ(some.scores[0].logprob_T, none.scores[0].logprob_T);
  EXPECT_EQ(some.scores[0].base_logprob_S, none.scores[0].base_logprob_S);
  // The thoughts of a position share their mixtures.
  size_t a = 0;
  const auto thoughts = examples.texts()[0].thoughts;
  for (size_t k = 0; k < thoughts.size(); k += 2) {
    const size_t ahead = static_cast<size_t>(TokensAhead(thoughts[k].position, 7, 3));
    for (size_t j = 0; j < ahead; ++j) {
      EXPECT_EQ(none.scores[0].mixed_logprob_A[a + j], none.scores[0].mixed_logprob_A[a + ahead + j]);
    }
    a += 2 * ahead;
  }
}

TEST(ThoughtPassTest, AdaptersAndHeadsLearnWhereTheModelIsFrozen) {
  DecoderConfig config = WithThinkingTokens(SmallConfig());
  config.lora.r = 3;
  const auto model = *ThoughtModel::Create(config, kShape, /*training=*/true);
  ThreadPool pool(1);
  const DecoderLayout base = MakeBaseLayout(config);
  ASSERT_OK(model->model().LoadBase(pool, [&](int spec, absl::Span<float> values) {
    InitializeTensor(config, base, 3, spec, values);
    return absl::OkStatus();
  }));
  for (size_t i = 0; i < model->mutable_parameters().size(); ++i) {
    model->mutable_parameters()[i] = 0.1f * static_cast<float>((7 * i) % 11) - 0.5f;
  }
  model->Refresh(pool);
  const ThoughtExamples examples(SmallConfig(), {7, 9});
  const Outcome whole = Accumulate(*model, examples.texts()),
                cut = Accumulate(*model, examples.texts(), {.max_rows = 30, .recompute = true});
  EXPECT_EQ(cut.gradient, whole.gradient);
  size_t first = 0;
  for (const ParameterSpec& spec : model->layout().specs) {
    const auto begin = whole.gradient.begin() + static_cast<int64_t>(first);
    EXPECT_TRUE(std::any_of(begin, begin + spec.size, [](float g) { return g != 0; })) << spec.name;
    first += static_cast<size_t>(spec.size);
  }
  EXPECT_TRUE(model->FrozenCopy()->SharesWith(*model));
  config.lora.dropout = 0.1;
  EXPECT_EQ(ThoughtModel::Create(config, kShape, true).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ThoughtPassTest, HeadsThatDoNotDivideTheWidthAreRefused) {
  ThoughtHeadsShape shape;
  shape.mixing = Mixing::kAttention;
  shape.attention_heads = 7;
  EXPECT_EQ(ThoughtModel::Create(SmallConfig(), shape, true).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ThoughtPassTest, ScoreThoughtsGivesTheBitsThatLossesSee) {
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3);
  const ThoughtExamples examples(SmallConfig(), {7, 2, 19});
  const Outcome expected = Accumulate(*model, examples.texts());
  for (const int64_t max_rows : {0, 30}) {
    ThoughtWorkspace work(model->config(), max_rows, false, Team());
    size_t next = 0;
    const auto receive = [&](int64_t text, const ThoughtScores& scores) {
      ASSERT_EQ(text, static_cast<int64_t>(next));
      EXPECT_TRUE(SameScores(scores, expected.scores[next++]));
    };
    ScoreThoughts({model->decoder(), model->heads()}, examples.texts(), OptionsOf(*model), receive, &work);
    EXPECT_EQ(next, 3u);
  }
}

TEST(ThoughtPassTest, NothingOfAnEarlierNetworkIsLeftInTheWorkspace) {
  const auto with_values = RandomThoughtModel(SmallConfig(), kShape, 3);
  const auto without_values = RandomThoughtModel(SmallConfig(), {}, 3);
  const ThoughtExamples examples(SmallConfig(), {7, 19});
  ThoughtWorkspace work(with_values->config(), 0, false, Team());
  // The second network reads other texts, which have more positions with thoughts.
  ScoreThoughts(
      {with_values->decoder(), with_values->heads()}, examples.texts().first(1), OptionsOf(*with_values),
      [](int64_t, const ThoughtScores& scores) { EXPECT_FALSE(scores.value_M.empty()); }, &work);
  ScoreThoughts(
      {without_values->decoder(), without_values->heads()}, examples.texts(), OptionsOf(*without_values),
      [](int64_t, const ThoughtScores& scores) { EXPECT_TRUE(scores.value_M.empty()); }, &work);
}

TEST(ThoughtPassTest, ActivationsTakeNoMoreMemoryThanIsStated) {
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3);
  const ThoughtExamples examples(SmallConfig(), {19});
  // Positions 0, 2, ..., 16, each with two thoughts of at most three tokens.
  const ThoughtSizes sizes = {1, 19, 9, 2, 3, 3};
  for (const int64_t max_rows : {0, 40}) {
    for (const bool recompute : {false, true}) {
      const Settings settings = {.max_rows = max_rows, .recompute = recompute, .reference = &model->decoder()};
      const int64_t bytes = Accumulate(*model, examples.texts(), settings).bytes,
                    stated = ThoughtPassBytes(model->config(), sizes, max_rows, recompute, true);
      EXPECT_LE(bytes, stated);
      EXPECT_GE(2 * bytes, stated);
    }
  }
}

TEST(ThoughtPassTest, ReportsEveryTensorOnce) {
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3);
  const ThoughtExamples examples(SmallConfig(), {7, 9});
  for (const int64_t max_rows : {0, 20}) {
    const Outcome outcome = Accumulate(*model, examples.texts(), {.max_rows = max_rows});
    ASSERT_EQ(outcome.finished.size(), model->layout().specs.size());
    for (const auto& [spec, times] : outcome.finished) EXPECT_EQ(times, 1) << spec;
  }
}

TEST(ThoughtPassTest, ATextWithoutThoughtsOnlyPredictsItself) {
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3);
  const std::vector<int32_t> tokens = testing::RandomTokens(SmallConfig(), 5, 6);
  const ThoughtfulText text = {tokens, {}};
  const Outcome outcome = Accumulate(*model, {&text, 1});
  EXPECT_EQ(outcome.scores[0].base_logprob_S.size(), 5u);
  EXPECT_TRUE(outcome.scores[0].mixed_logprob_A.empty());
  EXPECT_TRUE(std::ranges::none_of(outcome.gradient, [](float g) { return std::isnan(g); }));
}

class ThoughtDivergenceTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Directions, ThoughtDivergenceTest, ::testing::Bool());

TEST_P(ThoughtDivergenceTest, FromTheSameModelIsZeroAndItsGradientThatOfDifferences) {
  const bool from_reference = GetParam();
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3), other = RandomThoughtModel(SmallConfig(), kShape, 4);
  const ThoughtExamples examples(SmallConfig(), {5});
  const Outcome same =
      Accumulate(*model, examples.texts(), {.reference = &model->decoder(), .from_reference = from_reference});
  for (const float divergence : same.scores[0].divergence_T) EXPECT_EQ(divergence, 0.0f);
  const Settings of_other = {.reference = &other->decoder(), .from_reference = from_reference};
  const Outcome with = Accumulate(*model, examples.texts(), of_other), without = Accumulate(*model, examples.texts());
  // The gradient of the divergences alone, against their differences.
  const auto loss = [&] {
    ThreadPool pool(1);
    model->Refresh(pool);
    const ThoughtScores scores = Accumulate(*model, examples.texts(), of_other).scores[0];
    double sum = 0;
    for (size_t i = 0; i < scores.divergence_T.size(); ++i) {
      sum += static_cast<double>(WeightOf(6, i)) * static_cast<double>(scores.divergence_T[i]);
    }
    return sum;
  };
  size_t first = 0;
  for (const ParameterSpec& spec : model->layout().specs) {
    if (spec.name.ends_with("q_proj.weight") || spec.name.starts_with("lm_head")) {
      for (int64_t i = 0; i < spec.size; i += spec.size / 2) {
        float& x = model->mutable_parameters()[spec.offset + i];
        const float middle = x;
        x = middle + 0x1p-7f;
        const double above = loss();
        x = middle - 0x1p-7f;
        const double below = loss();
        x = middle;
        const size_t at = first + static_cast<size_t>(i);
        EXPECT_NEAR(with.gradient[at] - without.gradient[at], (above - below) * 0x1p6, 2e-3) << spec.name;
      }
    }
    first += static_cast<size_t>(spec.size);
  }
}

TEST(ThoughtPassTest, TheDivergenceOfTheReferenceIsTheOtherDirection) {
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3), other = RandomThoughtModel(SmallConfig(), kShape, 4);
  const ThoughtExamples examples(SmallConfig(), {5});
  const auto divergences = [&](const ThoughtModel& of, const ThoughtModel& from, bool from_reference) {
    return Accumulate(of, examples.texts(), {.reference = &from.decoder(), .from_reference = from_reference})
        .scores[0]
        .divergence_T;
  };
  EXPECT_EQ(divergences(*model, *other, true), divergences(*other, *model, false));
  EXPECT_NE(divergences(*model, *other, true), divergences(*model, *other, false));
}

TEST(ThoughtPassTest, TheDelimitersEmbeddingsAreWeighted) {
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3);
  const ThoughtExamples examples(SmallConfig(), {7});
  const Outcome plain = Accumulate(*model, examples.texts()),
                weighted = Accumulate(*model, examples.texts(), {.delimiter_weight = 100});
  const int64_t width = model->config().hidden_size;
  const ThoughtDelimiters delimiters = DelimitersOf(model->config());
  ASSERT_EQ(model->layout().embedding, 0);
  bool is_learned = false;
  for (size_t i = 0; i < plain.gradient.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / width;
    const bool is_delimiter = row == delimiters.start || row == delimiters.end;
    EXPECT_EQ(weighted.gradient[i], plain.gradient[i] * (is_delimiter ? 100 : 1)) << i;
    is_learned = is_learned || (is_delimiter && plain.gradient[i] != 0);
  }
  EXPECT_TRUE(is_learned);
}

TEST(ThoughtPassTest, DetachedValuesDoNotTrainTheDecoder) {
  ThoughtHeadsShape detached = kShape;
  detached.values_train_decoder = false;
  const auto model = RandomThoughtModel(SmallConfig(), detached, 3);
  const ThoughtExamples examples(SmallConfig(), {7});
  const Outcome with = Accumulate(*model, examples.texts()),
                without = Accumulate(*model, examples.texts(), {.with_values = false});
  size_t first = 0;
  for (const ParameterSpec& spec : model->layout().specs) {
    const size_t size = static_cast<size_t>(spec.size);
    const bool equal = std::equal(with.gradient.begin() + static_cast<int64_t>(first),
                                  with.gradient.begin() + static_cast<int64_t>(first + size),
                                  without.gradient.begin() + static_cast<int64_t>(first));
    EXPECT_EQ(equal, !spec.name.starts_with("value_head")) << spec.name;
    first += size;
  }
}

TEST(ThoughtPassTest, TheErrorOfALossIsReturned) {
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3);
  const ThoughtExamples examples(SmallConfig(), {7, 9});
  ThoughtWorkspace work(model->config(), 20, false, Team());
  std::vector<float> total(static_cast<size_t>(model->layout().total)), open = total;
  const ThoughtLoss loss = [](int64_t text, const ThoughtScores&, ThoughtGradients*) {
    return text == 0 ? absl::OkStatus() : absl::InternalError("the loss is not finite");
  };
  const AuxiliaryGradient none;
  const auto result = AccumulateThoughts({model->decoder(), model->heads()}, examples.texts(), OptionsOf(*model),
                                         {nullptr, none, loss}, {total.data(), open.data()}, &work);
  EXPECT_EQ(result.status().message(), "the loss is not finite");
}

TEST(ThoughtPassTest, CorrectTokensAreTheMostProbableOnes) {
  const auto model = RandomThoughtModel(SmallConfig(), kShape, 3);
  std::vector<int32_t> tokens = testing::RandomTokens(SmallConfig(), 5, 2);
  const ThoughtPassOptions options = OptionsOf(*model);
  int64_t base = 0, mixed = 0;
  for (int32_t last = 0; last < model->config().vocab_size; ++last) {
    tokens[1] = last;
    const Thought thought = {0, {4, 5}};
    const ThoughtfulText text = {tokens, {&thought, 1}};
    ThoughtWorkspace work(model->config(), 0, false, Team());
    ScoreThoughts(
        {model->decoder(), model->heads()}, {&text, 1}, options,
        [&](int64_t, const ThoughtScores& scores) {
          base += scores.base_correct_S[0];
          mixed += scores.mixed_correct_A[0];
        },
        &work);
  }
  EXPECT_EQ(base, 1);
  EXPECT_EQ(mixed, 1);
}

}  // namespace
}  // namespace reprise::models
