#include "models/olmoe/weights.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/safetensors/writer.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

DecoderConfig Tiny() {
  DecoderConfig config;
  config.vocab_size = 5;
  config.hidden_size = config.intermediate_size = 4;
  config.num_hidden_layers = 1;
  config.num_attention_heads = config.num_key_value_heads = 2;
  config.num_experts = 2;
  config.num_experts_per_tok = 1;
  return config;
}

// A directory whose weights are written tensor by tensor: element i of tensor t is 100 t + i.
class WeightsTest : public ::testing::Test {
 protected:
  WeightsTest() : directory_(::testing::TempDir() + "/weights_test"), layout_(MakeDecoderLayout(Tiny())) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    for (const ParameterSpec& spec : layout_.specs) {
      Tensor& tensor = tensors_.emplace_back(spec.name, DType::kF32, spec.shape);
      for (int64_t i = 0; i < spec.size; ++i) tensor.mutable_data<float>()[i] = 100.0f * tensors_.size() + i;
    }
  }

  std::string Path(const std::string& file) const { return absl::StrCat(directory_, "/", file); }
  void Write(const std::string& file, size_t begin, size_t end) {
    std::vector<TensorView> views;
    for (size_t i = begin; i < end; ++i) views.push_back(tensors_[i].view());
    std::filesystem::remove(Path(file));
    ASSERT_OK(WriteSafetensors(PosixFileSystem(), Path(file), views));
  }
  void WriteAll() { Write("model.safetensors", 0, tensors_.size()); }
  void WriteIndex(const std::string& map) {
    const std::string path = Path("model.safetensors.index.json");
    std::filesystem::remove(path);
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), path, absl::StrCat(R"({"weight_map": )", map, "}")));
  }
  absl::Status Load() {
    flat_.assign(layout_.total, -1.0f);
    return LoadWeights(directory_, layout_, absl::MakeSpan(flat_));
  }
  Tensor& Named(const std::string& name) {
    return *std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& t) { return t.name() == name; });
  }
  // Puts the experts into two tensors, as Transformers 5 does: torch.stack of each expert's gate above its up, and of
  // the experts' downs.
  void FuseExperts(DType type) {
    const std::string layer = "model.layers.0.mlp.experts.";
    Tensor gate_up(layer + "gate_up_proj", type, {2, 8, 4}), down(layer + "down_proj", type, {2, 4, 4});
    size_t at = 0, down_at = 0;
    for (const std::string expert : {"0.", "1."}) {
      for (const std::string part : {"gate_proj", "up_proj"}) {
        for (const float value : Named(layer + expert + part + ".weight").data<float>()) Set(gate_up, at++, value);
      }
      for (const float value : Named(layer + expert + "down_proj.weight").data<float>()) Set(down, down_at++, value);
    }
    std::erase_if(tensors_, [](const Tensor& t) { return t.name().find(".experts.") != std::string::npos; });
    tensors_.push_back(std::move(gate_up));
    tensors_.insert(tensors_.begin(), std::move(down));
  }
  static void Set(Tensor& tensor, size_t at, float value) {
    if (tensor.dtype() == DType::kF32) tensor.mutable_data<float>()[at] = value;
    if (tensor.dtype() == DType::kBF16) {
      tensor.mutable_data<uint16_t>()[at] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    }
  }
  void ExpectAllLoaded() const {
    for (size_t t = 0; t < layout_.specs.size(); ++t) {
      const ParameterSpec& spec = layout_.specs[t];
      for (int64_t i = 0; i < spec.size; ++i) ASSERT_EQ(flat_[spec.offset + i], 100.0f * (t + 1) + i) << spec.name;
    }
  }

  const std::string directory_;
  DecoderLayout layout_;
  std::vector<Tensor> tensors_;
  std::vector<float> flat_;
};

TEST_F(WeightsTest, EachTensorGoesToItsPlaceAndThePaddingIsZero) {
  WriteAll();
  ASSERT_OK(Load());
  ExpectAllLoaded();
  const ParameterSpec& norm = layout_.specs[layout_.final_norm];
  EXPECT_EQ(flat_[norm.offset + norm.size], 0.0f);
  EXPECT_THAT(*WeightFiles(directory_), ElementsAre(Path("model.safetensors")));
}

TEST_F(WeightsTest, ShardsAreFoundThroughTheIndex) {
  Write("b.safetensors", 0, 3);
  Write("a.safetensors", 3, tensors_.size());
  WriteIndex(R"({"x": "b.safetensors", "y": "a.safetensors", "z": "b.safetensors"})");
  ASSERT_OK(Load());
  ExpectAllLoaded();
  EXPECT_THAT(*WeightFiles(directory_), ElementsAre(Path("a.safetensors"), Path("b.safetensors")));
}

TEST_F(WeightsTest, AMalformedIndexIsRefused) {
  const std::string index = Path("model.safetensors.index.json");
  WriteIndex(R"({"x": "../b.safetensors"})");
  EXPECT_THAT(Load(), StatusIs(kInvalid, index + R"(: /weight_map/x: "../b.safetensors" is not the name of a )" +
                                             ".safetensors file in the model's directory"));
  WriteIndex(R"({"x": 3})");
  EXPECT_THAT(Load(), StatusIs(kInvalid, index + ": /weight_map/x: expected a string, found a number"));
  WriteIndex("{}");
  EXPECT_THAT(Load(), StatusIs(kInvalid, index + ": /weight_map: no tensor is listed"));
  WriteIndex(R"({"x": "none.safetensors"})");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(Path("none.safetensors"))));
  std::filesystem::remove(index);
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound,
                               directory_ + ": neither model.safetensors nor model.safetensors.index.json exists"));
}

TEST_F(WeightsTest, MissingShardsAreCountedAndNamed) {
  Write("model-00001-of-00003.safetensors", 0, tensors_.size());
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound,
                               HasSubstr("; model-00001-of-00003.safetensors is one of several files, and "
                                         "model.safetensors.index.json, which lists them, is missing: download")));
  WriteIndex(R"({"x": "model-00001-of-00003.safetensors", "y": "model-00002-of-00003.safetensors",
                 "z": "model-00003-of-00003.safetensors"})");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound,
                               Path("model.safetensors.index.json") + ": 2 of its 3 files are missing, first " +
                                   Path("model-00002-of-00003.safetensors") + ": download the model again"));
  Write("model-00002-of-00003.safetensors", 0, 1);
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(": 1 of its 3 files is missing, " +
                                                                      Path("model-00003-of-00003.safetensors"))));
}

TEST_F(WeightsTest, ALinkThatLeadsNowhereIsNamed) {
  for (const std::string name : {"model.safetensors.index.json", "model.safetensors"}) {
    std::filesystem::create_symlink("../blobs/ab12", Path(name));
    EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("cannot find " + Path(name) +
                                           ": it is a symbolic link to ../blobs/ab12, which does not exist")));
  }
}

// Types are written into the header in place of U8, whose elements have as many bytes.
TEST_F(WeightsTest, TensorsThatNobodyReadsMayHaveAnyTypeOrNoElements) {
  tensors_.emplace_back("model.layers.0.self_attn.k_scale", DType::kU8, Shape{4});
  tensors_.emplace_back("model.empty", DType::kF32, Shape{0, 4});
  WriteAll();
  EXPECT_THAT(Load(), StatusIs(kInvalid, HasSubstr("unexpected model.layers.0.self_attn.k_scale")));
  const auto with_type = [&](const std::string& type) {
    std::string bytes = *ReadFile(PosixFileSystem(), Path("model.safetensors"), 1 << 20);
    bytes.replace(bytes.find("\"U8\""), 4, "\"" + type + "\"");
    uint64_t length = 0;  // of the header
    std::memcpy(&length, bytes.data(), sizeof(length));
    length += type.size() - 2;
    std::memcpy(bytes.data(), &length, sizeof(length));
    std::filesystem::remove(Path("model.safetensors"));
    EXPECT_OK(WriteFileAtomically(PosixFileSystem(), Path("model.safetensors"), bytes));
  };
  with_type("F8_E4M3");
  ASSERT_OK(Load());
  ExpectAllLoaded();
  Named("model.norm.weight") = Tensor("model.norm.weight", DType::kU8, {4});
  std::erase_if(tensors_, [](const Tensor& t) { return t.name() == "model.layers.0.self_attn.k_scale"; });
  WriteAll();
  with_type("F8_E4M3");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kUnimplemented,
                               HasSubstr("model.safetensors: tensor model.norm.weight has elements of type F8_E4M3, "
                                         "which are not read; expected F32, F64, F16")));
}

TEST_F(WeightsTest, ATiedModelMayStoreItsMatrixAsTheHead) {
  DecoderConfig config = Tiny();
  config.tie_word_embeddings = true;
  const size_t count = tensors_.size();
  ASSERT_EQ(tensors_[0].name(), "model.embed_tokens.weight");
  std::vector<float> embedding(tensors_[0].data<float>().begin(), tensors_[0].data<float>().end());
  ASSERT_EQ(tensors_[count - 1].name(), "lm_head.weight");
  for (size_t i = 0; i < embedding.size(); ++i) tensors_[count - 1].mutable_data<float>()[i] = embedding[i];
  layout_ = MakeDecoderLayout(config);
  Write("model.safetensors", 1, count);
  ASSERT_OK(Load());
  ExpectAllLoaded();
  ASSERT_OK_AND_ASSIGN(const TensorReader read, OpenWeights(directory_, layout_));
  std::vector<float> again(embedding.size());
  ASSERT_OK(read(layout_.embedding, absl::MakeSpan(again)));
  EXPECT_EQ(again, embedding);
  layout_ = MakeDecoderLayout(Tiny());  // without the tie the embedding is missing
  EXPECT_THAT(Load(), StatusIs(kInvalid, HasSubstr("missing model.embed_tokens.weight")));
}

TEST_F(WeightsTest, ATensorInTwoShardsIsRefused) {
  Write("a.safetensors", 0, tensors_.size());
  Write("b.safetensors", 0, 1);
  WriteIndex(R"({"x": "a.safetensors", "y": "b.safetensors"})");
  EXPECT_THAT(Load(), StatusIs(kInvalid, Path("b.safetensors") + ": tensor model.embed_tokens.weight is also in " +
                                             Path("a.safetensors")));
}

TEST_F(WeightsTest, MissingAndUnexpectedTensorsAreListed) {
  const std::string place = directory_ + ": the weights do not fit config.json: ";
  Write("model.safetensors", 0, tensors_.size() - 1);
  EXPECT_THAT(Load(), StatusIs(kInvalid, place + "missing lm_head.weight"));
  Write("model.safetensors", 5, tensors_.size());
  EXPECT_THAT(Load(), StatusIs(kInvalid, place + "missing model.embed_tokens.weight, "
                                                 "model.layers.0.input_layernorm.weight, "
                                                 "model.layers.0.self_attn.k_proj.weight and 2 more"));
  tensors_.emplace_back("model.extra.weight", DType::kF32, Shape{1});
  WriteAll();
  EXPECT_THAT(Load(), StatusIs(kInvalid, place + "unexpected model.extra.weight"));
}

TEST_F(WeightsTest, ExpertsThatTransformers5FusesAreSplit) {
  FuseExperts(DType::kF32);
  WriteAll();
  ASSERT_OK(Load());
  ExpectAllLoaded();
  const size_t half = tensors_.size() / 2;
  std::filesystem::remove(Path("model.safetensors"));
  Write("a.safetensors", 0, half);
  Write("b.safetensors", half, tensors_.size());
  WriteIndex(R"({"x": "a.safetensors", "y": "b.safetensors"})");
  ASSERT_OK(Load());
  ExpectAllLoaded();
}

// Elements of bf16 are half as large, and the values have few digits.
TEST_F(WeightsTest, FusedExpertsMayBeBf16) {
  for (Tensor& tensor : tensors_) {
    for (float& value : tensor.mutable_data<float>()) value = static_cast<float>(static_cast<int>(value) % 128);
  }
  WriteAll();
  ASSERT_OK(Load());
  const std::vector<float> separate = flat_;
  FuseExperts(DType::kBF16);
  WriteAll();
  ASSERT_OK(Load());
  EXPECT_EQ(flat_, separate);
}

TEST_F(WeightsTest, FusedExpertsOfAnotherShapeOrStoredTwiceAreRefusedByName) {
  FuseExperts(DType::kF32);
  const std::string fused = "model.layers.0.mlp.experts.gate_up_proj";
  Named(fused) = Tensor(fused, DType::kF32, {2, 4, 8});
  WriteAll();
  EXPECT_THAT(Load(), StatusIs(kInvalid, Path("model.safetensors") + ": tensor " + fused +
                                             " has shape [2, 4, 8]; config.json asks for [2, 8, 4], each expert's gate "
                                             "above its up"));
  Named(fused) = Tensor(fused, DType::kF32, {2, 8, 4});
  tensors_.emplace_back("model.layers.0.mlp.experts.1.up_proj.weight", DType::kF32, Shape{4, 4});
  WriteAll();
  EXPECT_THAT(Load(), StatusIs(kInvalid, HasSubstr("tensor model.layers.0.mlp.experts.1.up_proj.weight is also in ")));
}

TEST_F(WeightsTest, WeightsInFormatsThatAreNotReadAreNamed) {
  const auto expect = [&](const std::string& file, const std::string& named) {
    ASSERT_OK(WriteFileAtomically(PosixFileSystem(), Path(file), "x"));
    EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(named)));
    std::filesystem::remove(Path(file));
  };
  expect("model-Q4.gguf", "exists; model-Q4.gguf is a GGUF file, which is not read");
  expect("pytorch_model.bin",
         "pickled weights, such as pytorch_model.bin, are not read: save the model as safetensors");
  expect("consolidated.00.pth", "pickled weights, such as consolidated.00.pth, are not read");
  expect("training_args.bin", "nor model.safetensors.index.json exists");
  EXPECT_EQ(OtherWeights(directory_), "");
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), Path("training_args.bin"), "x"));
  EXPECT_EQ(OtherWeights(directory_), "");
  expect("adapter_config.json", "; it has adapter_config.json, so it is a directory of adapters: the model's path is ");
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), Path("model.safetensors"),
                                "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 996864\n"));
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kDataLoss,
                               HasSubstr("model.safetensors: not a safetensors file: this is a pointer of Git LFS")));
}

TEST_F(WeightsTest, RotaryBuffersOfOldCheckpointsAreIgnored) {
  tensors_.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", DType::kF32, Shape{1});
  WriteAll();
  EXPECT_OK(Load());
}

TEST_F(WeightsTest, AnotherShapeIsRefused) {
  Named("model.norm.weight") = Tensor("model.norm.weight", DType::kF32, {2, 2});
  WriteAll();
  EXPECT_THAT(Load(), StatusIs(kInvalid, Path("model.safetensors") +
                                             ": tensor model.norm.weight has shape [2, 2]; config.json asks for [4]"));
}

TEST_F(WeightsTest, AnotherElementTypeIsConvertedOrRefused) {
  Tensor& norm = Named("model.norm.weight") = Tensor("model.norm.weight", DType::kBF16, {4});
  norm.mutable_data<uint16_t>()[2] = 0x3fc0;
  WriteAll();
  ASSERT_OK(Load());
  EXPECT_EQ(flat_[layout_.specs[layout_.final_norm].offset + 2], 1.5f);
  Named("model.norm.weight") = Tensor("model.norm.weight", DType::kI32, {4});
  WriteAll();
  EXPECT_THAT(Load(),
              StatusIs(kInvalid, HasSubstr("model.safetensors: tensor model.norm.weight has element type i32")));
}

TEST_F(WeightsTest, AValueThatIsNotFiniteIsNamed) {
  Named("model.norm.weight").mutable_data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  WriteAll();
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kDataLoss,
                               Path("model.safetensors") +
                                   ": tensor model.norm.weight, element 3 of shape [4]: NaN; weights must be finite"));
}

TEST_F(WeightsTest, TiedEmbeddingsNeedNoHeadAndTolerateAnEqualOne) {
  DecoderConfig config = Tiny();
  config.tie_word_embeddings = true;
  layout_ = MakeDecoderLayout(config);
  Write("model.safetensors", 0, tensors_.size() - 1);
  EXPECT_OK(Load());
  WriteAll();
  EXPECT_THAT(Load(), StatusIs(kInvalid, Path("model.safetensors") +
                                             ": lm_head.weight differs from the embedding, yet config.json says "
                                             "tie_word_embeddings"));
  const Tensor& embedding = Named("model.embed_tokens.weight");
  std::copy_n(embedding.data<float>().begin(), embedding.size(), tensors_.back().mutable_data<float>().begin());
  WriteAll();
  EXPECT_OK(Load());
}

TEST_F(WeightsTest, AnEncoderLeavesTheLmHeadOut) {
  layout_ = TrunkLayout(Tiny());
  WriteAll();
  EXPECT_OK(Load());
  Write("model.safetensors", 0, tensors_.size() - 1);
  EXPECT_OK(Load());
}

TEST_F(WeightsTest, SavedWeightsAreSortedByNameAndLoadAgain) {
  WriteAll();
  ASSERT_OK(Load());
  const std::vector<float> loaded = flat_;
  std::sort(tensors_.begin(), tensors_.end(), [](const auto& a, const auto& b) { return a.name() < b.name(); });
  Write("expected.safetensors", 0, tensors_.size());
  std::filesystem::remove(Path("model.safetensors"));
  ASSERT_OK(SaveWeights(PosixFileSystem(), directory_, layout_, loaded));
  EXPECT_EQ(*ReadFile(PosixFileSystem(), Path("model.safetensors"), 1 << 20),
            *ReadFile(PosixFileSystem(), Path("expected.safetensors"), 1 << 20));
  ASSERT_OK(Load());
  EXPECT_EQ(flat_, loaded);
}

}  // namespace
}  // namespace reprise::models
