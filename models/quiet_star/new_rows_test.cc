// Thinking tokens of a model that is frozen but for its adapters: their rows learn, and are all that differs from the
// model whose whole vocabulary learns.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/corruption.h"
#include "models/decoder/testing/testing.h"
#include "models/quiet_star/thinking_tokens.h"
#include "models/quiet_star/thought_pass.h"
#include "models/quiet_star/thought_testing.h"

namespace reprise::models {
namespace {

using testing::RandomThoughtModel;
using testing::SmallConfig;
using testing::ThoughtExamples;

const ThoughtHeadsShape kShape = {};

const ParameterSpec& SpecNamed(const FlatLayout& layout, const std::string& name) {
  return *std::ranges::find(layout.specs, name, &ParameterSpec::name);
}

absl::Span<const float> ValuesOf(const ParameterSpec& spec, absl::Span<const float> flat) {
  return flat.subspan(static_cast<size_t>(spec.offset), static_cast<size_t>(spec.size));
}

// A model whose whole vocabulary learns, and one that is frozen but for adapters that add nothing, heads, and rows of
// thinking tokens, which are equal.
struct Pair {
  explicit Pair(DecoderConfig config) : whole(RandomThoughtModel(config, kShape, 3)) {
    config.lora = {.r = 2};
    frozen = *ThoughtModel::Create(WithThinkingTokens(config), kShape, /*training=*/true);
    base = MakeBaseLayout(frozen->config());
    read = [this](int spec, absl::Span<float> values) {
      const absl::Span<const float> from = ValuesOf(base.specs[spec], whole->parameters());
      std::ranges::copy(from, values.begin());
      // What stands in the place of the rows is never used.
      const size_t rows = static_cast<size_t>(frozen->config().new_rows * frozen->config().hidden_size);
      if (spec == base.embedding || spec == base.lm_head) std::fill(values.end() - rows, values.end(), 7.0f);
      return absl::OkStatus();
    };
    EXPECT_OK(frozen->LoadBase(pool, read));
    frozen->InitializeDecoder(5);
    for (const ParameterSpec& spec : frozen->layout().specs) {
      if (spec.name.starts_with("base_model.")) continue;
      std::ranges::copy(Counterpart(spec, whole->parameters()), frozen->mutable_parameters().begin() + spec.offset);
    }
    frozen->Refresh(pool);
  }

  // Returns, of parameters of `whole` or their gradient, what corresponds to a tensor of `frozen`.
  absl::Span<const float> Counterpart(const ParameterSpec& spec, absl::Span<const float> of_whole) const {
    const std::string name = spec.name == "new_rows.embed_tokens.weight" ? "model.embed_tokens.weight"
                             : spec.name == "new_rows.lm_head.weight"    ? "lm_head.weight"
                                                                         : spec.name;
    const absl::Span<const float> tensor = ValuesOf(SpecNamed(whole->layout(), name), of_whole);
    return tensor.last(static_cast<size_t>(spec.size));
  }

  ThreadPool pool{1};
  std::unique_ptr<ThoughtModel> whole, frozen;
  DecoderLayout base;
  TensorReader read;
};

struct Outcome {
  std::vector<float> gradient;
  std::vector<ThoughtScores> scores;
};

Outcome Accumulate(const ThoughtModel& model, absl::Span<const ThoughtfulText> texts, int64_t max_rows = 0) {
  Outcome outcome;
  outcome.gradient.assign(static_cast<size_t>(model.layout().total), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> open = outcome.gradient;
  ThoughtWorkspace work(model.config(), max_rows, false, Team());
  const ThoughtLoss loss = [&](int64_t, const ThoughtScores& scores, ThoughtGradients* gradients) {
    outcome.scores.push_back(scores);
    for (std::vector<float>* const part :
         {&gradients->dlogprob_T, &gradients->dmixed_logprob_A, &gradients->dbase_logprob_S}) {
      for (size_t i = 0; i < part->size(); ++i) (*part)[i] = 0.1f * static_cast<float>(i % 7) - 0.25f;
    }
    return absl::OkStatus();
  };
  const ThoughtPassOptions options = {.delimiters = DelimitersOf(model.config()),
                                      .tokens_ahead = 2,
                                      .temperature = 1.5f,
                                      .delimiter_gradient_weight = 100};
  EXPECT_OK(AccumulateThoughts({model.decoder(), model.heads()}, texts, options, {nullptr, {}, loss},
                               {outcome.gradient.data(), open.data()}, &work));
  return outcome;
}

class NewRowsTest : public ::testing::TestWithParam<int> {
 protected:
  static DecoderConfig ConfigOf(int variant) {
    DecoderConfig config = SmallConfig();
    config.tie_word_embeddings = variant == 1;
    config.bf16_weights = variant == 2;
    return config;
  }
};

INSTANTIATE_TEST_SUITE_P(UntiedTiedAndBf16, NewRowsTest, ::testing::Values(0, 1, 2));

TEST_P(NewRowsTest, HaveTheScoresAndTheGradientOfTheModelWhoseWholeVocabularyLearns) {
  const Pair pair(ConfigOf(GetParam()));
  const ThoughtExamples examples(SmallConfig(), {7, 9});
  const Outcome whole = Accumulate(*pair.whole, examples.texts());
  for (const int64_t max_rows : {0, 20}) {
    const Outcome frozen = Accumulate(*pair.frozen, examples.texts(), max_rows);
    for (size_t t = 0; t < 2; ++t) {
      EXPECT_EQ(frozen.scores[t].logprob_T, whole.scores[t].logprob_T);
      EXPECT_EQ(frozen.scores[t].mixed_logprob_A, whole.scores[t].mixed_logprob_A);
    }
    for (const ParameterSpec& spec : pair.frozen->layout().specs) {
      if (spec.name.starts_with("base_model.")) continue;
      const absl::Span<const float> gradient = ValuesOf(spec, frozen.gradient);
      EXPECT_EQ(gradient, pair.Counterpart(spec, whole.gradient)) << spec.name;
      EXPECT_TRUE(std::ranges::any_of(gradient, [](float g) { return g != 0; })) << spec.name;
    }
  }
}

TEST_P(NewRowsTest, AReferenceKeepsTheRowsThatItWasMadeWith) {
  const Pair pair(ConfigOf(GetParam()));
  const ThoughtExamples examples(SmallConfig(), {7});
  const auto score = [&](const ThoughtModel& model) {
    ThoughtWorkspace work(model.config(), 0, false, Team());
    std::vector<float> logprobs;
    ScoreThoughts(
        {model.decoder(), model.heads()}, examples.texts(),
        {.delimiters = DelimitersOf(model.config()), .tokens_ahead = 2},
        [&](int64_t, const ThoughtScores& scores) { logprobs = scores.logprob_T; }, &work);
    return logprobs;
  };
  const std::vector<float> before = score(*pair.frozen);
  const std::unique_ptr<ThoughtModel> reference = pair.frozen->FrozenCopy();
  EXPECT_TRUE(reference->SharesWith(*pair.frozen));
  EXPECT_EQ(score(*reference), before);
  const ParameterSpec& rows = SpecNamed(pair.frozen->layout(), "new_rows.embed_tokens.weight");
  for (float& x : pair.frozen->mutable_parameters().subspan(static_cast<size_t>(rows.offset), 40)) x += 0.5f;
  ThreadPool pool(1);
  pair.frozen->Refresh(pool);
  EXPECT_NE(score(*pair.frozen), before);
  EXPECT_EQ(score(*reference), before);
  reference->MoveTowards(*pair.frozen, 1.0, pool);
  EXPECT_EQ(score(*reference), score(*pair.frozen));
}

TEST_P(NewRowsTest, AFlippedBitOfTheirCopiesIsFound) {
  const Pair pair(ConfigOf(GetParam()));
  const PackedWeights& weights = pair.frozen->decoder().weights;
  const PackedBatch batch = testing::SequenceBatch(testing::RandomTokens(SmallConfig(), 6, 12));
  EXPECT_EQ(FindCorruption(pair.frozen->model(), batch), "");
  const auto expect_found = [&](const void* at, const std::string& name) {
    unsigned char* const byte = const_cast<unsigned char*>(static_cast<const unsigned char*>(at));
    *byte ^= 4;
    EXPECT_EQ(FindCorruption(pair.frozen->model(), batch), name + ", whose packed copy for the kernels differs");
    *byte ^= 4;
  };
  const auto memory = [](const kernels::PackedMatrix& matrix) {  // of a weight that is not the padding token's
    return (matrix.is_bf16() ? reinterpret_cast<const unsigned char*>(matrix.pairs())
                             : reinterpret_cast<const unsigned char*>(matrix.floats())) +
           33 * sizeof(float);
  };
  const std::string head = GetParam() == 1 ? "model.embed_tokens.weight" : "lm_head.weight";
  expect_found(&weights.embedding_bytes().back(), "model.embed_tokens.weight");
  expect_found(memory(weights.lm_head()), head);
  expect_found(memory(weights.lm_head_transposed()), head);
}

TEST(NewRowsInitializationTest, RowsAreThoseOfAModelWithoutAdapters) {
  const Pair pair(SmallConfig());
  for (const int32_t like_token : {-1, 5}) {
    std::vector<float> of_whole(pair.whole->parameters().begin(), pair.whole->parameters().end());
    InitializeThinkingTokens(pair.whole->config(), pair.whole->layout(), 9, like_token, absl::MakeSpan(of_whole));
    std::vector<float> of_frozen(pair.frozen->parameters().begin(), pair.frozen->parameters().end());
    ASSERT_OK(InitializeNewRows(pair.frozen->config(), pair.frozen->layout(), 9, like_token, pair.read,
                                absl::MakeSpan(of_frozen)));
    for (const char* name : {"new_rows.embed_tokens.weight", "new_rows.lm_head.weight"}) {
      const ParameterSpec& spec = SpecNamed(pair.frozen->layout(), name);
      EXPECT_EQ(ValuesOf(spec, of_frozen), pair.Counterpart(spec, of_whole)) << name;
    }
  }
}

TEST(NewRowsConfigTest, NeedAdaptersAndAVocabulary) {
  DecoderConfig config = SmallConfig();
  config.new_rows = 1;
  EXPECT_EQ(ValidateDecoderConfig(config).code(), absl::StatusCode::kInvalidArgument);
  config.lora.r = 2;
  EXPECT_OK(ValidateDecoderConfig(config));
  config.new_rows = config.vocab_size;
  EXPECT_EQ(ValidateDecoderConfig(config).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace reprise::models
