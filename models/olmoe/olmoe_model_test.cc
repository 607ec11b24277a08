#include "models/olmoe/olmoe_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/products/products.h"
#include "models/decoder/testing/testing.h"
#include "models/generation/generate.h"

namespace reprise::models {
namespace {

using reprise::testing::GoldenModels;
using reprise::testing::GoldensDirectory;
using reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;
constexpr char kText[] = "operation: pending; step: 0";

std::string Directory() { return GoldensDirectory() + "/models/" + GoldenModels().at(0); }

// Returns a directory that is a copy of the model's.
std::string CopyOfDirectory() {
  const std::string copy = ::testing::TempDir() + "/olmoe_model";
  std::filesystem::remove_all(copy);
  std::filesystem::copy(Directory(), copy);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  for (const auto& file : std::filesystem::directory_iterator(copy)) {
    std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  return copy;
}

// The means of the rows of hidden states, or of the logits computed from them, in double.
std::vector<double> MeanOfRows(const kernels::ConstRows& rows) {
  std::vector<double> mean(static_cast<size_t>(rows.width));
  for (int64_t r = 0; r < rows.rows; ++r) {
    for (int64_t i = 0; i < rows.width; ++i) mean[i] += static_cast<double>(rows[r][i]);
  }
  for (double& value : mean) value /= static_cast<double>(rows.rows);
  return mean;
}

void ExpectNear(const std::vector<float>& ours, const std::vector<double>& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(ours[i]), expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
  }
}

class OlmoeModelTest : public ::testing::Test {
 protected:
  // Returns the first model of the golden set.
  OlmoeModel Loaded(Backend backend = Backend::kTrainable, OlmoeModelOptions options = {}) {
    OlmoeModel model(pool_, options);
    EXPECT_OK(model.Load(Directory(), backend));
    return model;
  }

  // Changes every parameter of one part.
  static void Disturb(OlmoeModel& model, bool of_head) {
    for (MutableTensor& tensor : model.Parameters()) {
      if (absl::StartsWith(tensor.name, "action_head.") != of_head) continue;
      for (float& value : tensor.values) value = 0.5f * value + 0.01f;
    }
    model.Refresh();
  }

  ThreadPool pool_{2};
};

TEST_F(OlmoeModelTest, HasNoPartsBeforeLoad) {
  OlmoeModel model(pool_);
  EXPECT_FALSE(model.is_loaded());
  EXPECT_EQ(model.backend(), Backend::kNone);
  EXPECT_EQ(model.model(), nullptr);
  EXPECT_EQ(model.tokenizer(), nullptr);
  EXPECT_EQ(model.action_head(), nullptr);
  EXPECT_THAT(model.Parameters(), IsEmpty());
  EXPECT_THAT(model.GetStateDict(), IsEmpty());
  EXPECT_OK(model.LoadStateDict(Loaded().GetStateDict()));  // it has no part to copy to
  EXPECT_THAT(model.Encode(kText), StatusIs(kFailedPrecondition, "Model not loaded"));
  EXPECT_THAT(model.Encode(std::vector<std::string>{kText}), StatusIs(kFailedPrecondition, "Model not loaded"));
  EXPECT_THAT(model.Embed(kText), StatusIs(kFailedPrecondition, "Model not loaded"));
  EXPECT_THAT(model.Generate(kText), StatusIs(kFailedPrecondition, "Model not loaded"));
  EXPECT_THAT(model.ActionLogits(std::vector<float>(64)),
              StatusIs(kFailedPrecondition,
                       "action_head is not available. GRPO training requires the transformers backend (use_mlx=False "
                       "or mlx-lm not installed)."));
  const OlmoeInfo info = model.Copy().Info();
  EXPECT_FALSE(info.is_loaded || info.has_lora);
  EXPECT_EQ(info.model_name + info.device, "");
  EXPECT_EQ(NameOf(info.backend), "none");
}

TEST_F(OlmoeModelTest, LoadAttachesAHeadOfTheModelsWidth) {
  const OlmoeModel model = Loaded();
  const DecoderConfig& config = model.model()->config();
  ASSERT_NE(model.action_head(), nullptr);
  EXPECT_EQ(model.action_head()->hidden_dim(), config.hidden_size);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> embedding, model.Encode(kText));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> logits, model.ActionLogits(embedding));
  EXPECT_THAT(logits, SizeIs(6));
  EXPECT_GT(std::set<float>(logits.begin(), logits.end()).size(), 1u);
  const OlmoeInfo info = model.Info();
  EXPECT_EQ(info.model_name, Directory());
  EXPECT_EQ(info.device, "cpu");
  EXPECT_EQ(NameOf(info.backend), "trainable");
  EXPECT_TRUE(info.is_loaded);
  EXPECT_EQ(info.action_head_parameters, MemoryActionHead(config.hidden_size).num_parameters());
  int64_t parameters = 0;
  for (const ParameterSpec& spec : model.model()->layout().specs) parameters += spec.size;
  EXPECT_EQ(info.parameters, parameters);
}

TEST_F(OlmoeModelTest, EncodeIsTheMeanOfTheLastHiddenStates) {
  const OlmoeModel model = Loaded();
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> tokens, model.TokensOf(kText));
  Activations activations(model.model()->config(), /*training=*/true);
  Forward(model.model()->decoder(), testing::SequenceBatch(tokens), nullptr, &activations);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> embedding, model.Encode(kText));
  ASSERT_EQ(static_cast<int64_t>(embedding.size()), model.model()->config().hidden_size);
  ExpectNear(embedding, MeanOfRows(activations.hidden_TD()));
  EXPECT_EQ(*model.Embed(kText), embedding);
}

TEST_F(OlmoeModelTest, EncodesEachOfSeveralTextsAsAlone) {
  for (const Backend backend : {Backend::kTrainable, Backend::kInference}) {
    const OlmoeModel model = Loaded(backend);
    std::vector<std::string> texts;
    for (size_t i = 0, rows = 0; rows < 2500; ++i) {  // more than two batches
      texts.push_back(std::string(i % 41, 'x') + kText + std::to_string(i % 50));
      rows += model.TokensOf(texts.back())->size();
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<std::vector<float>> embeddings, model.Encode(texts));
    ASSERT_THAT(embeddings, SizeIs(texts.size()));
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(embeddings[i], *model.Encode(texts[i])) << i;
    EXPECT_NE(embeddings[0], embeddings[1]);
    EXPECT_THAT(*model.Encode(std::vector<std::string>()), IsEmpty());
  }
}

TEST_F(OlmoeModelTest, TheNumberOfThreadsChangesNoBit) {
  ThreadPool other(5);
  OlmoeModel model(other);
  ASSERT_OK(model.Load(Directory()));
  EXPECT_EQ(*model.Encode(kText), *Loaded().Encode(kText));
  EXPECT_EQ(*model.Generate(kText, {.max_new_tokens = 20}), *Loaded().Generate(kText, {.max_new_tokens = 20}));
}

TEST_F(OlmoeModelTest, CutsLongTexts) {
  const OlmoeModel whole = Loaded(), model = Loaded(Backend::kTrainable, {.max_length = 3});
  ASSERT_OK_AND_ASSIGN(std::vector<int32_t> tokens, model.tokenizer()->Encode(kText));
  EXPECT_EQ(*whole.TokensOf(kText), tokens);
  ASSERT_GT(tokens.size(), 3u);
  tokens.resize(3);
  EXPECT_EQ(*model.TokensOf(kText), tokens);
  EXPECT_EQ(*model.Encode(kText), whole.EncodeTokens(std::vector<std::vector<int32_t>>{tokens})->at(0));
  const size_t positions = static_cast<size_t>(whole.model()->config().max_position_embeddings);
  std::string text;
  while (whole.tokenizer()->Encode(text)->size() <= positions) text += kText;
  EXPECT_THAT(*whole.TokensOf(text), SizeIs(positions));
}

TEST_F(OlmoeModelTest, RefusesTextsAndTokensThatItCannotEncode) {
  const OlmoeModel model = Loaded();
  const DecoderConfig& config = model.model()->config();
  EXPECT_THAT(model.Encode(""), StatusIs(kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(model.Embed(""), StatusIs(kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(model.Encode(std::vector<std::string>{"a", ""}), StatusIs(kInvalidArgument, HasSubstr("text 1: ")));
  EXPECT_THAT(model.Encode("\xff"), StatusIs(kInvalidArgument, HasSubstr("UTF-8")));
  const auto encode = [&](std::vector<int32_t> tokens) {
    return model.EncodeTokens(std::vector<std::vector<int32_t>>{{3}, std::move(tokens)});
  };
  EXPECT_THAT(encode({}), StatusIs(kInvalidArgument, HasSubstr("text 1: there are no tokens")));
  for (const int32_t token : {-1, static_cast<int32_t>(config.vocab_size)}) {
    EXPECT_THAT(encode({3, token}), StatusIs(kInvalidArgument, HasSubstr("token " + std::to_string(token))));
  }
  const size_t positions = static_cast<size_t>(config.max_position_embeddings);
  EXPECT_OK(encode(std::vector<int32_t>(positions, 3)));
  EXPECT_THAT(encode(std::vector<int32_t>(positions + 1, 3)), StatusIs(kInvalidArgument, HasSubstr("positions")));
}

TEST_F(OlmoeModelTest, TheActionHeadHasNoPartInEmbeddings) {
  OlmoeModel model = Loaded();
  const std::vector<float> before = *model.Embed(kText);
  const std::vector<float> logits = *model.ActionLogits(before);
  Disturb(model, /*of_head=*/true);
  EXPECT_EQ(*model.Embed(kText), before);
  EXPECT_EQ(*model.Encode(kText), before);
  EXPECT_NE(*model.ActionLogits(before), logits);
  Disturb(model, /*of_head=*/false);
  EXPECT_NE(*model.Embed(kText), before);
}

TEST_F(OlmoeModelTest, TheInferenceOnlyBackendEncodesMeansOfLogitsAndHasNoHead) {
  const OlmoeModel model = Loaded(Backend::kInference);
  const DecoderConfig& config = model.model()->config();
  EXPECT_TRUE(config.bf16_weights);
  EXPECT_EQ(NameOf(model.Info().backend), "inference");
  EXPECT_EQ(model.Info().action_head_parameters, 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> tokens, model.TokensOf(kText));
  Activations activations(config, /*training=*/true);
  Forward(model.model()->decoder(), testing::SequenceBatch(tokens), nullptr, &activations);
  std::vector<float> logits(tokens.size() * static_cast<size_t>(config.vocab_size));
  const kernels::Rows logits_TV = {logits.data(), activations.rows(), config.vocab_size};
  kernels::Product(activations.hidden_TD(), model.model()->decoder().weights.lm_head(), logits_TV);
  ASSERT_OK_AND_ASSIGN(const std::vector<float> encoded, model.Encode(kText));
  ExpectNear(encoded, MeanOfRows(logits_TV));
  ExpectNear(*model.Embed(kText), MeanOfRows(activations.hidden_TD()));

  EXPECT_EQ(model.action_head(), nullptr);
  EXPECT_THAT(model.ActionLogits(*model.Embed(kText)), StatusIs(kFailedPrecondition, std::string(kNoActionHead)));
  EXPECT_THAT(Loaded().ActionLogits(encoded),
              StatusIs(kInvalidArgument, AllOf(HasSubstr(" " + std::to_string(config.vocab_size) + " elements"),
                                               HasSubstr(" " + std::to_string(config.hidden_size) + " (hidden_dim)"))));
}

TEST_F(OlmoeModelTest, GenerateReturnsTheNewTextStripped) {
  const OlmoeModel model = Loaded();
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> tokens, model.tokenizer()->Encode(kText));
  bool some_stripped = false, some_ended = false;
  std::set<std::string> texts;
  for (uint64_t sample = 0; sample < 64; ++sample) {
    GenerateOptions options;
    options.max_completion_length = 12;
    options.sampling = {.temperature = 0.9f, .top_k = 50, .top_p = 0.95f};
    options.end_tokens = model.model()->config().eos_token_id;
    options.seed = 42;
    options.step = sample;
    const Prompt prompts[] = {{.tokens = tokens}};
    const GenerateResult result = models::Generate(model.model()->decoder(), prompts, options, pool_);
    const std::string text = model.tokenizer()->Decode(result.completions[0].tokens, Tokenizer::SpecialTokens::kSkip);
    ASSERT_OK_AND_ASSIGN(
        const std::string generated,
        model.Generate(kText, {.max_new_tokens = 12, .temperature = 0.9f, .top_p = 0.95f, .sample = sample}));
    EXPECT_EQ(generated, absl::StripAsciiWhitespace(text)) << sample;
    some_stripped |= generated != text;
    some_ended |= result.completions[0].terminated;
    texts.insert(generated);
  }
  EXPECT_TRUE(some_stripped && some_ended);
  EXPECT_GT(texts.size(), 30u);
}

TEST_F(OlmoeModelTest, GenerateIsAFunctionOfItsOptions) {
  const OlmoeModel model = Loaded();
  const std::string text = *model.Generate(kText, {.max_new_tokens = 30});
  EXPECT_EQ(*model.Generate(kText, {.max_new_tokens = 30}), text);
  EXPECT_EQ(*model.Generate(kText, {.max_new_tokens = 30, .temperature = 0.7f, .top_p = 0.9f, .top_k = 50}), text);
  EXPECT_NE(*model.Generate(kText, {.max_new_tokens = 30, .sample = 1}), text);
  EXPECT_NE(*Loaded(Backend::kTrainable, {.seed = 43}).Generate(kText, {.max_new_tokens = 30}), text);
  // Without sampling, and from the single most probable token, the text is the same for every seed and sample.
  const OlmoeModel greedy = Loaded(Backend::kTrainable, {.do_sample = false, .seed = 7});
  EXPECT_EQ(*greedy.Generate(kText, {.max_new_tokens = 30, .sample = 5}),
            *model.Generate(kText, {.max_new_tokens = 30, .top_k = 1}));
}

TEST_F(OlmoeModelTest, GenerateRefusesWhatItCannotDo) {
  const OlmoeModel model = Loaded();
  const int64_t positions = model.model()->config().max_position_embeddings;
  EXPECT_THAT(model.Generate(""), StatusIs(kInvalidArgument, HasSubstr("the prompt is empty")));
  EXPECT_THAT(model.Generate("abc", {.max_new_tokens = positions}),
              StatusIs(kInvalidArgument, HasSubstr("exceed the model's " + std::to_string(positions) + " positions")));
  const int64_t room = positions - static_cast<int64_t>(model.TokensOf("abc")->size());
  EXPECT_OK(model.Generate("abc", {.max_new_tokens = room}));
  EXPECT_THAT(model.Generate("abc", {.max_new_tokens = room + 1}), StatusIs(kInvalidArgument, HasSubstr("exceed")));
  EXPECT_THAT(model.Generate("a", {.max_new_tokens = 0}), StatusIs(kInvalidArgument, HasSubstr("max_new_tokens is 0")));
  for (const float temperature : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(model.Generate("a", {.max_new_tokens = 1, .temperature = temperature}),
                StatusIs(kInvalidArgument, HasSubstr("temperature is ")));
  }
  for (const float top_p : {0.0f, 1.5f}) {
    EXPECT_THAT(model.Generate("a", {.max_new_tokens = 1, .top_p = top_p}),
                StatusIs(kInvalidArgument, HasSubstr("top_p is ")));
  }
  EXPECT_THAT(model.Generate("a", {.max_new_tokens = 1, .top_k = -1}),
              StatusIs(kInvalidArgument, HasSubstr("top_k is -1")));
  EXPECT_THAT(model.Generate("a", {.max_new_tokens = 1, .sample = uint64_t{1} << 32}),
              StatusIs(kInvalidArgument, HasSubstr("sample is 4294967296")));
}

TEST_F(OlmoeModelTest, ParametersAreThoseOfTheDecoderAndThenOfTheHead) {
  OlmoeModel model = Loaded();
  const std::vector<MutableTensor> parameters = model.Parameters();
  const size_t decoder = model.model()->layout().specs.size();
  ASSERT_THAT(parameters, SizeIs(decoder + 4));
  EXPECT_EQ(parameters[0].name, "model.embed_tokens.weight");
  EXPECT_EQ(parameters[decoder].name, "action_head.0.weight");
  EXPECT_EQ(parameters[decoder + 3].name, "action_head.1.bias");
  for (const MutableTensor& parameter : parameters) {
    EXPECT_EQ(static_cast<int64_t>(parameter.values.size()), NumElements(parameter.shape)) << parameter.name;
  }
  EXPECT_THAT(Loaded(Backend::kInference).Parameters(), SizeIs(decoder));
}

// Returns the names of parts and tensors, and the tensors' shapes.
std::map<std::string, std::map<std::string, Shape>> StructureOf(const StateDict& state) {
  std::map<std::string, std::map<std::string, Shape>> structure;
  for (const auto& [part, tensors] : state) {
    for (const auto& [name, tensor] : tensors) structure[part][name] = tensor.shape;
  }
  return structure;
}

TEST_F(OlmoeModelTest, AStateDictCarriesAllWeightsToAnotherModel) {
  OlmoeModel policy = Loaded(), reference = Loaded(Backend::kTrainable, {.seed = 1});
  Disturb(policy, /*of_head=*/false);
  Disturb(policy, /*of_head=*/true);
  const StateDict state = policy.GetStateDict();
  EXPECT_EQ(StructureOf(state), StructureOf(reference.GetStateDict()));
  EXPECT_THAT(state, SizeIs(2));
  EXPECT_TRUE(state.at("model").contains("lm_head.weight"));
  EXPECT_THAT(StructureOf(state).at("action_head"), SizeIs(4));
  EXPECT_EQ(state.at("action_head").at("1.bias").shape, Shape({6}));

  const std::vector<float> embedding = *policy.Encode(kText);
  EXPECT_NE(*reference.Encode(kText), embedding);
  EXPECT_NE(*reference.ActionLogits(embedding), *policy.ActionLogits(embedding));
  ASSERT_OK(reference.LoadStateDict(state));
  EXPECT_EQ(*reference.Encode(kText), embedding);
  EXPECT_EQ(*reference.ActionLogits(embedding), *policy.ActionLogits(embedding));
  ASSERT_OK(policy.LoadStateDict(state));  // its own
  EXPECT_EQ(*policy.Encode(kText), embedding);
  Disturb(policy, /*of_head=*/false);
  EXPECT_EQ(*reference.Encode(kText), embedding);
}

TEST_F(OlmoeModelTest, AStateDictChangesOnlyPartsThatBothHave) {
  OlmoeModel changed = Loaded();
  Disturb(changed, /*of_head=*/false);
  Disturb(changed, /*of_head=*/true);
  const std::vector<float> embedding = *Loaded().Encode(kText);

  OlmoeModel with_head = Loaded();
  StateDict head = changed.GetStateDict();
  head.erase("model");
  ASSERT_OK(with_head.LoadStateDict(head));
  EXPECT_EQ(*with_head.Encode(kText), embedding);
  EXPECT_EQ(*with_head.ActionLogits(embedding), *changed.ActionLogits(embedding));

  OlmoeModel inference = Loaded(Backend::kInference);
  EXPECT_THAT(inference.GetStateDict(), SizeIs(1));
  const std::vector<float> before = *inference.Encode(kText);
  ASSERT_OK(inference.LoadStateDict(changed.GetStateDict()));
  EXPECT_NE(*inference.Encode(kText), before);
  EXPECT_EQ(inference.action_head(), nullptr);
}

TEST_F(OlmoeModelTest, RefusesAStateDictOfAnotherModelAndChangesNothing) {
  const OlmoeModel other = Loaded();
  OlmoeModel model = Loaded();
  Disturb(model, /*of_head=*/false);
  const std::vector<float> before = *model.Encode(kText);
  const auto load = [&](auto change) {
    StateDict state = other.GetStateDict();
    change(state);
    return model.LoadStateDict(state);
  };
  EXPECT_THAT(load([](StateDict& state) { state["action_head"].erase("0.bias"); }),
              StatusIs(kInvalidArgument, "the state dict's \"action_head\": missing 0.bias"));
  EXPECT_THAT(load([](StateDict& state) { state["model"]["more"] = state["model"]["lm_head.weight"]; }),
              StatusIs(kInvalidArgument, "the state dict's \"model\": unexpected more"));
  EXPECT_THAT(
      load([](StateDict& state) { state["action_head"]["0.bias"].shape = {16, 2}; }),
      StatusIs(kInvalidArgument, AllOf(HasSubstr("0.bias has shape [16, 2]"), HasSubstr("this model's has ["))));
  const float infinite[6] = {0, 0, 0, std::numeric_limits<float>::infinity(), 0, 0};
  EXPECT_THAT(load([&](StateDict& state) {
                state["action_head"]["1.bias"].bytes =
                    absl::MakeConstSpan(reinterpret_cast<const std::byte*>(infinite), sizeof(infinite));
              }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("1.bias")));
  EXPECT_EQ(*model.Encode(kText), before);
}

TEST_F(OlmoeModelTest, ACopyIsIndependentInAllItsParts) {
  for (const Backend backend : {Backend::kTrainable, Backend::kInference}) {
    OlmoeModel model = Loaded(backend);
    OlmoeModel copy = model.Copy();
    EXPECT_EQ(copy.backend(), backend);
    EXPECT_EQ(StructureOf(copy.GetStateDict()), StructureOf(model.GetStateDict()));
    const std::vector<float> embedding = *model.Embed(kText);
    EXPECT_EQ(*copy.Embed(kText), embedding);
    // Of a head only the logits are seen.
    const auto logits = [&](const OlmoeModel& of) {
      return backend == Backend::kTrainable ? *of.ActionLogits(embedding) : std::vector<float>();
    };
    EXPECT_EQ(logits(copy), logits(model));
    for (OlmoeModel* const changed : {&model, &copy}) {
      const OlmoeModel& other = changed == &model ? copy : model;
      const std::vector<float> own = *changed->Embed(kText), others = *other.Embed(kText);
      const std::vector<float> own_logits = logits(*changed), others_logits = logits(other);
      Disturb(*changed, /*of_head=*/false);
      Disturb(*changed, /*of_head=*/true);
      EXPECT_NE(*changed->Embed(kText), own);
      EXPECT_EQ(*other.Embed(kText), others);
      EXPECT_EQ(logits(other), others_logits);
      EXPECT_EQ(logits(*changed) == own_logits, backend == Backend::kInference);
    }
  }
}

TEST_F(OlmoeModelTest, RefusesLoadingIn8And4Bits) {
  for (const OlmoeModelOptions& options :
       {OlmoeModelOptions{.load_in_8bit = true}, OlmoeModelOptions{.load_in_4bit = true}}) {
    OlmoeModel model(pool_, options);
    EXPECT_THAT(model.Load(Directory()),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr(options.load_in_8bit ? "load_in_8bit is not" : "load_in_4bit is not")));
    EXPECT_FALSE(model.is_loaded());
  }
  OlmoeModel model(pool_, {.max_length = 0});
  EXPECT_THAT(model.Load(Directory()), StatusIs(kInvalidArgument, HasSubstr("max_length is 0")));
  EXPECT_THAT(OlmoeModel(pool_).Load(Directory(), Backend::kNone), StatusIs(kInvalidArgument, HasSubstr("none")));
}

TEST_F(OlmoeModelTest, AnErrorOfTheDirectoryNamesTheFileAndLeavesTheModel) {
  OlmoeModel model = Loaded();
  const std::vector<float> before = *model.Encode(kText);
  const std::vector<float> logits = *model.ActionLogits(before);
  for (const std::string name : {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}) {
    for (const bool is_missing : {false, true}) {
      const std::string directory = CopyOfDirectory(), file = directory + "/" + name;
      if (is_missing && name == "tokenizer_config.json") continue;  // it is optional
      ASSERT_TRUE(std::filesystem::exists(file)) << file;
      if (is_missing) {
        std::filesystem::remove(file);
      } else {
        std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
      }
      const absl::Status status = model.Load(directory, Backend::kInference);
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(directory), HasSubstr(name)));
      EXPECT_EQ(model.backend(), Backend::kTrainable);
      EXPECT_EQ(*model.Encode(kText), before);
      EXPECT_EQ(*model.ActionLogits(before), logits);
    }
  }
}

// Changes a number in a directory's config.json.
void Configure(const std::string& directory, const std::string& key, int64_t value) {
  std::ifstream in(directory + "/config.json");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t begin = text.find("\"" + key + "\":");
  ASSERT_NE(begin, std::string::npos);
  std::ofstream(directory + "/config.json")
      << text.substr(0, begin) << "\"" << key << "\": " << value << text.substr(text.find_first_of(",}", begin));
}

TEST_F(OlmoeModelTest, RefusesATokenizerWithMoreTokensThanTheModel) {
  const std::string directory = CopyOfDirectory();
  OlmoeModel model = Loaded();
  const int64_t most = model.tokenizer()->vocab_size();
  Configure(directory, "vocab_size", most - 1);
  EXPECT_THAT(model.Load(directory),
              StatusIs(kInvalidArgument, AllOf(HasSubstr(directory), HasSubstr(std::to_string(most) + " tokens"),
                                               HasSubstr("vocab_size is " + std::to_string(most - 1)))));
}

TEST_F(OlmoeModelTest, RefusesAModelThatDoesNotFitIntoMemory) {
  const std::string directory = CopyOfDirectory();
  Configure(directory, "intermediate_size", 1 << 24);
  Configure(directory, "num_hidden_layers", 16);
  EXPECT_THAT(OlmoeModel(pool_).Load(directory),
              StatusIs(kInvalidArgument, AllOf(HasSubstr(directory), HasSubstr("GiB of memory"))));
}

}  // namespace
}  // namespace reprise::models
