// Compares the tokens of greedy decoding by models::Generate, and the text of OlmoeModel::Generate, with the
// reference's.

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "models/generation/generate.h"
#include "models/olmoe/olmoe_model.h"
#include "tests/golden/golden_model.h"

namespace reprise::golden {
namespace {

Errors GreedyErrors(const models::Model& model, const Vectors& vectors) {
  const int64_t count = vectors.FindShape("greedy_tokens")[0], length = vectors.FindShape("greedy_tokens")[1];
  std::vector<std::vector<int32_t>> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(vectors.Tokens(absl::StrCat("greedy_prompt_", i), 0));
  std::vector<models::Prompt> prompts;
  for (size_t i = 0; i < tokens.size(); ++i) prompts.push_back({tokens[i], i});
  models::GenerateOptions options;
  options.max_completion_length = length;
  options.sampling.greedy = true;
  ThreadPool pool(2);
  const models::GenerateResult result = models::Generate(model.decoder(), prompts, options, pool);

  Errors errors;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::vector<int32_t> golden = vectors.Tokens("greedy_tokens", static_cast<int64_t>(i));
    const std::vector<int32_t>& ours = result.completions[i].tokens;
    errors.CompareExactly("lengths", static_cast<int64_t>(ours.size()), static_cast<int64_t>(golden.size()),
                          absl::StrCat("greedy_tokens[", i, "]"));
    for (size_t t = 0; t < std::min(golden.size(), ours.size()); ++t) {
      errors.CompareExactly("greedy tokens", ours[t] == golden[t], absl::StrCat("greedy_tokens[", i, ",", t, "]"));
    }
  }
  return errors;
}

using GreedyGoldenTest = GoldenModelTest;
INSTANTIATE_ON_GOLDEN_MODELS(GreedyGoldenTest);

TEST_P(GreedyGoldenTest, GeneratesTheReferencesTokens) { ExpectWithin(GreedyErrors(*model_, *vectors_)); }

TEST_P(GreedyGoldenTest, DetectsADifferentModel) {
  MakeAnotherModel(model_.get());
  EXPECT_FALSE(GreedyErrors(*model_, *vectors_).Within("greedy tokens"));
}

TEST_P(GreedyGoldenTest, WritesTheReferencesText) {
  ThreadPool pool(2);
  models::OlmoeModel model(pool, {.do_sample = false});
  ASSERT_OK(model.Load(testing::GoldensDirectory() + "/models/" + GetParam()));
  int64_t compared = 0;
  for (int64_t i = 0; i < vectors_->FindShape("greedy_tokens")[0]; ++i) {
    const std::vector<int32_t> prompt = vectors_->Tokens(absl::StrCat("greedy_prompt_", i), 0);
    const std::string text = model.tokenizer()->Decode(prompt);
    const absl::StatusOr<std::vector<int32_t>> again = model.tokenizer()->Encode(text);
    if (!again.ok() || *again != prompt) continue;  // tokens that no text gives
    std::vector<int32_t> golden = vectors_->Tokens("greedy_tokens", i);
    const int64_t length = static_cast<int64_t>(golden.size());
    const std::vector<int32_t>& ends = model.model()->config().eos_token_id;
    golden.erase(std::find_first_of(golden.begin(), golden.end(), ends.begin(), ends.end()), golden.end());
    ASSERT_OK_AND_ASSIGN(const std::string generated, model.Generate(text, {.max_new_tokens = length}));
    EXPECT_EQ(generated,
              absl::StripAsciiWhitespace(model.tokenizer()->Decode(golden, models::Tokenizer::SpecialTokens::kSkip)));
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no prompt of the set is the tokens of a text";
}

}  // namespace
}  // namespace reprise::golden
