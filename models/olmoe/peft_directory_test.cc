#include "models/olmoe/peft_directory.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "models/olmoe/weights.h"
#include "models/safetensors/writer.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

DecoderConfig LoraTestConfig() {
  DecoderConfig config = testing::SmallConfig();
  config.lora = {.r = 3, .alpha = 6, .dropout = 0.05};
  config.lora.targets[static_cast<size_t>(LoraModule::kO)] = false;
  return config;
}

class PeftDirectoryTest : public ::testing::Test {
 protected:
  PeftDirectoryTest()
      : directory_(::testing::TempDir() + "/peft_directory_test"), model_(testing::RandomModel(LoraTestConfig(), 5)) {
    std::filesystem::remove_all(directory_);
  }

  std::string Path(absl::string_view file) const { return absl::StrCat(directory_, "/", file); }
  absl::Status Save() {
    return SaveAdapters(PosixFileSystem(), directory_, model_->config(), "models/base", model_->parameters());
  }
  absl::Status Load(const DecoderConfig& config) {
    loaded_.assign(model_->parameters().size(), 0.0f);
    return LoadAdapters(directory_, config, absl::MakeSpan(loaded_));
  }
  // Replaces a text of adapter_config.json, then loads.
  absl::Status LoadEdited(const std::string& text, const std::string& other) {
    const std::string path = Path("adapter_config.json");
    const std::string before = *ReadFile(PosixFileSystem(), path, 1 << 20);
    EXPECT_THAT(before, HasSubstr(text));
    std::filesystem::remove(path);
    EXPECT_OK(WriteFileAtomically(PosixFileSystem(), path, absl::StrReplaceAll(before, {{text, other}})));
    const absl::Status status = Load(LoraTestConfig());
    std::filesystem::remove(path);
    EXPECT_OK(WriteFileAtomically(PosixFileSystem(), path, before));
    return status;
  }

  const std::string directory_;
  const std::unique_ptr<Model> model_;
  std::vector<float> loaded_;
};

TEST_F(PeftDirectoryTest, ASavedDirectoryLoadsTheSameAdapters) {
  ASSERT_OK(Save());
  ASSERT_OK(Load(LoraTestConfig()));
  const absl::Span<const float> weights = model_->parameters();
  for (const ParameterSpec& spec : model_->layout().specs) {
    for (int64_t i = 0; i < spec.size; ++i) {
      const size_t at = static_cast<size_t>(spec.offset + i);
      ASSERT_EQ(loaded_[at], weights[at]) << spec.name;
    }
  }
  EXPECT_EQ(*ReadFile(PosixFileSystem(), Path("adapter_config.json"), 1 << 20), R"({
  "base_model_name_or_path": "models/base",
  "bias": "none",
  "fan_in_fan_out": false,
  "inference_mode": true,
  "init_lora_weights": true,
  "lora_alpha": 6,
  "lora_dropout": 0.0,
  "modules_to_save": null,
  "peft_type": "LORA",
  "r": 3,
  "target_modules": [
    "down_proj",
    "gate_proj",
    "k_proj",
    "q_proj",
    "up_proj",
    "v_proj"
  ],
  "task_type": "CAUSAL_LM"
}
)");
  EXPECT_THAT(Save(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("export to an empty directory")));
}

TEST_F(PeftDirectoryTest, APathOfTheModelNeedsNotBeUtf8) {
  ASSERT_OK(SaveAdapters(PosixFileSystem(), directory_, model_->config(), "models/\xff", model_->parameters()));
  EXPECT_THAT(*ReadFile(PosixFileSystem(), Path("adapter_config.json"), 1 << 20),
              HasSubstr("\"base_model_name_or_path\": \"models/\xef\xbf\xbd\""));
  ASSERT_OK(Load(LoraTestConfig()));
}

TEST_F(PeftDirectoryTest, AdaptersOfAnotherKindOrShapeAreRefused) {
  ASSERT_OK(Save());
  EXPECT_THAT(LoadEdited("\"LORA\"", "\"IA3\""),
              StatusIs(kInvalid, HasSubstr("/peft_type: \"IA3\" adapters cannot be read")));
  EXPECT_THAT(LoadEdited("\"bias\": \"none\"", "\"bias\": \"all\""),
              StatusIs(kInvalid, HasSubstr("expected \"none\"")));
  EXPECT_THAT(LoadEdited("\"bias\": \"none\"", "\"use_dora\": true"), StatusIs(kInvalid, HasSubstr("/use_dora")));
  for (const std::string option : {"use_rslora", "lora_bias", "use_qalora"}) {
    EXPECT_THAT(LoadEdited("\"bias\": \"none\"", "\"" + option + "\": true"),
                StatusIs(kInvalid, HasSubstr("/" + option)));
  }
  EXPECT_THAT(LoadEdited("\"fan_in_fan_out\": false", "\"fan_in_fan_out\": true"),
              StatusIs(kInvalid, HasSubstr("/fan_in_fan_out")));
  EXPECT_THAT(LoadEdited("\"bias\": \"none\"", "\"alora_invocation_tokens\": [1]"),
              StatusIs(kInvalid, HasSubstr("/alora_invocation_tokens")));
  EXPECT_THAT(LoadEdited("\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\""),
              StatusIs(kInvalid, HasSubstr("\"pissa\" adapters belong to a changed model")));
  EXPECT_THAT(LoadEdited("\"bias\": \"none\"", "\"alpha_pattern\": {\"q_proj\": 4}"),
              StatusIs(kInvalid, HasSubstr("/alpha_pattern")));
  EXPECT_THAT(LoadEdited("\"bias\": \"none\"", "\"rank_pattern\": {\"q_proj\": 4}"),
              StatusIs(kInvalid, HasSubstr("/rank_pattern")));
  EXPECT_THAT(LoadEdited("\"r\": 3", "\"r\": 4"), StatusIs(kInvalid, HasSubstr("/r: 4, but lora.r is 3")));
  EXPECT_THAT(LoadEdited("\"lora_alpha\": 6", "\"lora_alpha\": 3"),
              StatusIs(kInvalid, HasSubstr("/lora_alpha: 3, but lora.alpha is 6")));
  EXPECT_THAT(LoadEdited("\"up_proj\"", "\"o_proj\""), StatusIs(kInvalid, HasSubstr("but lora.target_modules is")));
  EXPECT_THAT(
      LoadEdited("\"up_proj\"", "\"lm_head\""),
      StatusIs(kInvalid, HasSubstr("/target_modules/4: adapters of \"lm_head\" cannot be read; expected q_proj")));
  EXPECT_THAT(LoadEdited("\"r\": 3", "\"r\": 0"), StatusIs(kInvalid, HasSubstr("/r: ")));
  EXPECT_THAT(LoadEdited("{\n", "[\n"), StatusIs(kInvalid, HasSubstr("adapter_config.json")));
  DecoderConfig wider = LoraTestConfig();
  wider.hidden_size = 48;
  EXPECT_THAT(Load(wider),
              StatusIs(kInvalid, HasSubstr("lora_A.weight has shape [3, 24]; the model asks for [3, 48]")));
  DecoderConfig deeper = LoraTestConfig();
  deeper.num_hidden_layers = 3;
  EXPECT_THAT(Load(deeper), StatusIs(kInvalid, HasSubstr("the adapters do not fit the model: missing "
                                                         "base_model.model.model.layers.2")));
  DecoderConfig shallower = LoraTestConfig();
  shallower.num_hidden_layers = 1;
  EXPECT_THAT(Load(shallower), StatusIs(kInvalid, HasSubstr("unexpected base_model.model.model.layers.1")));
  std::filesystem::remove(Path("adapter_config.json"));
  EXPECT_THAT(Load(LoraTestConfig()), StatusIs(absl::StatusCode::kNotFound, HasSubstr("adapter_config.json")));
}

// Advice to set a key to a value that the key cannot have would not help.
TEST_F(PeftDirectoryTest, AdaptersThatNoModelCanHaveAreRefusedWithoutAdviceToSetTheirValues) {
  ASSERT_OK(Save());
  for (const auto& [text, other, expected] : std::vector<std::array<std::string, 3>>{
           {"\"lora_alpha\": 6", "\"lora_alpha\": 0", "adapter_config.json: lora.alpha is 0"},
           {"\"lora_alpha\": 6", "\"lora_alpha\": -6", "adapter_config.json: lora.alpha is -6"},
           {"\"r\": 3", "\"r\": 5000", "adapter_config.json: lora.r is 5000"},
           {"\"lora_dropout\": 0.0", "\"lora_dropout\": 1.5", "adapter_config.json: lora.dropout is 1.5"}}) {
    const absl::Status status = LoadEdited(text, other);
    EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr(expected)));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr(": set lora.")));
  }
}

TEST_F(PeftDirectoryTest, NothingIsWrittenOfAWeightThatIsNotFinite) {
  model_->mutable_parameters()[5] = std::nanf("");
  EXPECT_THAT(Save(), StatusIs(absl::StatusCode::kInternal, HasSubstr("lora_A.weight is nan")));
  EXPECT_FALSE(std::filesystem::exists(Path("adapter_model.safetensors")));
}

TEST_F(PeftDirectoryTest, AnElementThatNoTrainingMakesIsRefused) {
  model_->mutable_parameters()[5] = 9e17f;
  ASSERT_OK(Save());
  EXPECT_THAT(Load(LoraTestConfig()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("element 5: 9e+17; no training")));
}

TEST_F(PeftDirectoryTest, TheMergedModelComputesTheSameHiddenStates) {
  DecoderConfig config = LoraTestConfig();
  std::vector<float> merged = testing::RandomBase(config, 5);
  MergeAdapters(config, model_->parameters(), absl::MakeSpan(merged));
  config.lora = {};
  const std::unique_ptr<Model> plain = Model::Create(config, /*training=*/false);
  std::copy(merged.begin(), merged.end(), plain->mutable_parameters().begin());
  ThreadPool pool(1);
  plain->Refresh(pool);
  const PackedBatch batch = testing::SequenceBatch(testing::RandomTokens(config, 1, 20));
  Activations unmerged(model_->config(), true), expected(config, true);
  Forward(model_->decoder(), batch, nullptr, &unmerged);
  Forward(plain->decoder(), batch, nullptr, &expected);
  for (int64_t i = 0; i < 20 * config.hidden_size; ++i) {
    ASSERT_NEAR(unmerged.hidden_TD().data[i], expected.hidden_TD().data[i], 5e-5) << i;
  }
}

// Files of other programs name the adapter too, or lack PEFT's prefix.
TEST_F(PeftDirectoryTest, NamesWithTheAdaptersNameOrWithoutThePrefixAreRead) {
  ASSERT_OK(Save());
  ASSERT_OK(Load(LoraTestConfig()));
  const std::vector<float> expected = loaded_;
  const auto write = [&](const std::vector<std::pair<std::string, std::string>>& changes, bool both = false) {
    std::vector<TensorView> tensors = ViewsOf(model_->layout(), model_->parameters());
    if (both) tensors.push_back(tensors[0]);
    for (size_t i = 0; i < model_->layout().specs.size(); ++i) {
      tensors[i].name = absl::StrReplaceAll(tensors[i].name, changes);
    }
    std::filesystem::remove(Path("adapter_model.safetensors"));
    return WriteSafetensors(PosixFileSystem(), Path("adapter_model.safetensors"), tensors);
  };
  for (const auto& changes : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{".lora_A.weight", ".lora_A.default.weight"}, {".lora_B.weight", ".lora_B.default.weight"}},
           {{".lora_A.weight", ".lora_A.my.v2.weight"}},
           {{"base_model.model.model", "model"}},
           {{"base_model.model.model", "model"}, {".lora_B.weight", ".lora_B.default.weight"}}}) {
    ASSERT_OK(write(changes));
    ASSERT_OK(Load(LoraTestConfig()));
    EXPECT_EQ(loaded_, expected);
  }
  ASSERT_OK(write({{".lora_A.weight", ".lora_A.default.weight"}}, /*both=*/true));
  EXPECT_THAT(Load(LoraTestConfig()), StatusIs(kInvalid, HasSubstr("it has tensors of several adapters, ")));
  ASSERT_OK(write({{".lora_A.weight", ".lora_A.default.bias"}}));
  EXPECT_THAT(Load(LoraTestConfig()), StatusIs(kInvalid, HasSubstr("lora_A.default.bias and ")));
}

TEST_F(PeftDirectoryTest, OptionsThatTrainMoreThanAdaptersOfModulesAreRefusedByName) {
  ASSERT_OK(Save());
  for (const std::string option : {"target_parameters", "trainable_token_indices", "layers_to_transform"}) {
    EXPECT_THAT(LoadEdited("\"bias\": \"none\"", "\"" + option + "\": [\"1\"]"),
                StatusIs(kInvalid, HasSubstr("/" + option + ": adapters with this option cannot be read")));
    EXPECT_OK(LoadEdited("\"bias\": \"none\"", "\"" + option + "\": []"));
  }
  EXPECT_THAT(LoadEdited("\"modules_to_save\": null", "\"modules_to_save\": [\"lm_head\"]"),
              StatusIs(kInvalid, HasSubstr("/modules_to_save: adapters with this option cannot be read")));
  EXPECT_THAT(
      LoadEdited("\"r\": 3,\n  \"target_modules\": [", "\"r\": 3,\n  \"target_modules\": \".*_proj\", \"x\": ["),
      StatusIs(kInvalid, HasSubstr("/target_modules: a pattern of modules cannot be read")));
}

TEST_F(PeftDirectoryTest, AdaptersBesideAModelThatCouldNotBeWrittenAreRemoved) {
  const auto save = [&](const absl::Status& model) {
    return ExportWithAdapters(PosixFileSystem(), directory_, model_->config(), "", model_->parameters(),
                              [&] { return model; });
  };
  EXPECT_THAT(save(absl::ResourceExhaustedError("full")), StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_TRUE(std::filesystem::is_empty(Path("adapter")));
  for (const absl::Status& other : {absl::AlreadyExistsError("exists"), absl::NotFoundError("gone")}) {
    EXPECT_EQ(save(other), other);
    EXPECT_TRUE(std::filesystem::exists(Path("adapter/adapter_config.json")));
    std::filesystem::remove_all(directory_);
  }
  EXPECT_OK(save(absl::OkStatus()));
  EXPECT_TRUE(std::filesystem::exists(Path("adapter/adapter_config.json")));
}

// PEFT may store adapters in another type of elements; whole numbers are not weights.
TEST_F(PeftDirectoryTest, ElementsOfOtherTypesAreConvertedOrRefused) {
  ASSERT_OK(Save());
  std::vector<std::string> bytes;
  std::vector<TensorView> tensors;
  for (const ParameterSpec& spec : model_->layout().specs) {
    bytes.emplace_back(static_cast<size_t>(2 * spec.size), '\0');
    std::fill(bytes.back().begin(), bytes.back().end(), '\x3f');  // 0x3f3f: 0.74609375 as bf16
  }
  const auto write = [&](DType type) {
    tensors.clear();
    for (size_t i = 0; i < bytes.size(); ++i) {
      const ParameterSpec& spec = model_->layout().specs[i];
      const size_t size = static_cast<size_t>(spec.size * SizeOf(type));
      tensors.push_back({spec.name, type, spec.shape, {reinterpret_cast<const std::byte*>(bytes[i].data()), size}});
    }
    std::filesystem::remove(Path("adapter_model.safetensors"));
    return WriteSafetensors(PosixFileSystem(), Path("adapter_model.safetensors"), tensors);
  };
  ASSERT_OK(write(DType::kBF16));
  ASSERT_OK(Load(LoraTestConfig()));
  EXPECT_EQ(loaded_[0], 0.74609375f);
  ASSERT_OK(write(DType::kU8));
  EXPECT_THAT(Load(LoraTestConfig()), StatusIs(kInvalid, HasSubstr("lora_A.weight")));
}

// Reading tensor by tensor gives what LoadWeights gives.
TEST_F(PeftDirectoryTest, ABaseIsReadTensorByTensor) {
  const DecoderConfig config = LoraTestConfig();
  const DecoderLayout base = MakeBaseLayout(config);
  const std::vector<float> weights = testing::RandomBase(config, 5);
  std::filesystem::create_directories(directory_);
  ASSERT_OK(SaveWeights(PosixFileSystem(), directory_, base, weights));
  const absl::StatusOr<TensorReader> read = OpenWeights(directory_, base);
  ASSERT_OK(read);
  for (size_t index = base.specs.size(); index-- > 0;) {
    const ParameterSpec& spec = base.specs[index];
    std::vector<float> values(static_cast<size_t>(spec.size));
    ASSERT_OK((*read)(static_cast<int>(index), absl::MakeSpan(values)));
    EXPECT_TRUE(std::equal(values.begin(), values.end(), weights.begin() + spec.offset)) << spec.name;
  }
  EXPECT_THAT(OpenWeights(directory_, MakeDecoderLayout(config)).status(), StatusIs(kInvalid, HasSubstr("missing")));
}

}  // namespace
}  // namespace reprise::models
