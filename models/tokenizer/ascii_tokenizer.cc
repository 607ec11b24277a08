#include "models/tokenizer/ascii_tokenizer.h"

#include "core/status/check.h"
#include "models/tokenizer/byte_alphabet.h"
#include "nlohmann/json.hpp"

namespace reprise::models {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSpecialTokens[] = {"<pad>", "<eos>", "<bos>"};  // ids 0, 1 and 2

Json AddedToken(int64_t id, const std::string& content, bool special) {
  Json token;
  token["id"] = id;
  token["content"] = content;
  for (const char* const flag : {"single_word", "lstrip", "rstrip", "normalized"}) token[flag] = false;
  token["special"] = special;
  return token;
}

Json AddedTokens(int64_t num_bytes, const std::vector<std::string>& words) {
  Json tokens = Json::array();
  for (const char* const content : kSpecialTokens) {
    tokens.push_back(AddedToken(static_cast<int64_t>(tokens.size()), content, /*special=*/true));
  }
  for (size_t i = 0; i < words.size(); ++i) {
    tokens.push_back(AddedToken(num_bytes + static_cast<int64_t>(i), words[i], /*special=*/false));
  }
  return tokens;
}

Json ByteLevel(bool is_decoder) {
  Json json;
  json["type"] = "ByteLevel";
  json["add_prefix_space"] = is_decoder;  // decoders ignore both
  json["trim_offsets"] = true;
  json["use_regex"] = is_decoder;
  return json;
}

Json Sequence(const char* id, int type) {
  Json inner;
  inner["id"] = id;
  inner["type_id"] = type;
  Json json;
  json["Sequence"] = std::move(inner);
  return json;
}

Json TextAlone() {
  Json json;
  json["type"] = "TemplateProcessing";
  json["single"] = Json::array({Sequence("A", 0)});
  json["pair"] = Json::array({Sequence("A", 0), Sequence("B", 1)});
  json["special_tokens"] = Json::object();
  return json;
}

Json Model(int64_t num_bytes) {
  Json json;
  json["type"] = "BPE";
  for (const char* const key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
    json[key] = nullptr;
  }
  for (const char* const key : {"fuse_unk", "byte_fallback", "ignore_merges"}) json[key] = false;
  for (int64_t id = 0; id < num_bytes; ++id) {
    json["vocab"][id < 3 ? kSpecialTokens[id] : ByteToText(static_cast<uint8_t>(id))] = id;
  }
  json["merges"] = Json::array();
  return json;
}

}  // namespace

std::string AsciiTokenizerJson(int64_t num_bytes, const std::vector<std::string>& words) {
  CHECK(num_bytes >= 3 && num_bytes <= 256);
  Json json;
  json["version"] = "1.0";
  json["truncation"] = nullptr;
  json["padding"] = nullptr;
  json["added_tokens"] = AddedTokens(num_bytes, words);
  json["normalizer"] = nullptr;
  json["pre_tokenizer"] = ByteLevel(/*is_decoder=*/false);
  json["post_processor"] = TextAlone();
  json["decoder"] = ByteLevel(/*is_decoder=*/true);
  json["model"] = Model(num_bytes);
  return json.dump(2);
}

std::string AsciiTokenizerConfigJson() {
  Json json;
  json["bos_token"] = kSpecialTokens[2];
  json["eos_token"] = kSpecialTokens[1];
  json["pad_token"] = kSpecialTokens[0];
  json["padding_side"] = "left";
  json["tokenizer_class"] = "PreTrainedTokenizerFast";
  return json.dump(2) + "\n";
}

}  // namespace reprise::models
