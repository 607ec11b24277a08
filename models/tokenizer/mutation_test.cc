// A damaged tokenizer.json is refused or gives a working tokenizer; it never causes a crash. Also run with
// --config=asan.

#include <cstdlib>
#include <string>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "models/tokenizer/tokenizer.h"

namespace reprise::models {
namespace {

uint64_t Below(uint64_t trial, uint64_t index, uint64_t bound) {
  return DrawBelow(2, Purpose::kTest, {.step = trial, .token = index}, bound);
}

// Returns a small tokenizer that uses every section.
std::string ValidFile() {
  return R"({"version":"1.0","added_tokens":[{"id":6,"content":"<e>","single_word":true,"lstrip":true,"rstrip":true,)"
         R"("normalized":true,"special":true}],"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},)"
         R"({"type":"Replace","pattern":{"Regex":"z{,2}[a-y&&[^a-x]]"},"content":"a"},{"type":"Lowercase"},)"
         R"({"type":"Strip","strip_left":true,"strip_right":false},{"type":"Prepend","prepend":"a"},{"type":"Nmt"},)"
         R"({"type":"StripAccents"},{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
         R"("strip_accents":null,"lowercase":true},{"type":"ByteLevel"}]},)"
         R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\d+(?=a)|b|\\s"},)"
         R"("behavior":"Removed","invert":false},{"type":"Punctuation","behavior":"Contiguous"},)"
         R"({"type":"Digits","individual_digits":true},{"type":"ByteLevel","add_prefix_space":true},)"
         R"({"type":"Split","pattern":{"String":"Ġ"},"behavior":"MergedWithNext","invert":true}]},)"
         R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<e>","type_id":0}},)"
         R"({"Sequence":{"id":"A","type_id":0}}]},"decoder":{"type":"ByteLevel"},"model":{"dropout":null,)"
         R"("unk_token":"<u>","fuse_unk":true,"vocab":{"a":0,"b":1,"ab":2,"aab":3,"Ġ":4,"<u>":5},)"
         R"("merges":["a b",["a","ab"]]}})";
}

// Returns a small tokenizer of plain text with the steps that the other one lacks.
std::string ValidPlainFile() {
  return R"({"version":"1.0","added_tokens":[{"id":0,"content":"<e>","single_word":false,"lstrip":false,"rstrip":false,)"
         R"("normalized":false,"special":true}],"normalizer":null,"pre_tokenizer":{"type":"Sequence","pretokenizers":[)"
         R"({"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":true},{"type":"Whitespace"},)"
         R"({"type":"BertPreTokenizer"},{"type":"FixedLength","length":3}]},"post_processor":null,"decoder":{)"
         R"("type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"_"},"content":" "},)"
         R"({"type":"ByteFallback"},{"type":"Metaspace","replacement":"_","prepend_scheme":"never"},)"
         R"({"type":"WordPiece","prefix":"##","cleanup":true},{"type":"BPEDecoder","suffix":"$"},)"
         R"({"type":"Strip","content":" ","start":1,"stop":1},{"type":"ByteLevel"},{"type":"Fuse"}]},"model":{)"
         R"("type":"BPE","unk_token":"<u>","byte_fallback":true,"continuing_subword_prefix":"","end_of_word_suffix":"",)"
         R"("vocab":{"<e>":0,"a":1,"_":2,"_a":3,"<u>":4,"<0x62>":5,"<0x31>":6},"merges":[["_","a"]]}})";
}

std::string Mutant(const std::string& valid, uint64_t trial) {
  constexpr char kAlphabet[] = "0123456789-.eE[]{},:\"\\ ab*+?()|<>\xc4\xa0";
  std::string file = valid;
  uint64_t draw = 0;
  const uint64_t changes = 1 + Below(trial, draw++, 3);
  for (uint64_t i = 0; i < changes && !file.empty(); ++i) {
    const size_t at = Below(trial, draw++, file.size()), length = 1 + Below(trial, draw++, 12);
    switch (Below(trial, draw++, 4)) {
      case 0:
      case 1:
        file[at] = kAlphabet[Below(trial, draw++, sizeof(kAlphabet) - 1)];
        break;
      case 2:
        file.erase(at, length);
        break;
      case 3:
        file.insert(at, file.substr(Below(trial, draw++, file.size()), length));
        break;
    }
  }
  return file;
}

bool Exercise(const std::string& mutant) {
  const absl::StatusOr<Tokenizer> tokenizer = Tokenizer::FromJson(mutant);
  if (!tokenizer.ok()) return false;
  const auto ids = tokenizer->Encode("aab a12ab <e> ba");
  if (ids.ok()) tokenizer->Decode(*ids);
  tokenizer->Decode({0, 1, 2, 3, 4, 5, 99, -7}, Tokenizer::SpecialTokens::kSkip);
  return true;
}

TEST(TokenizerMutationTest, NoMutantCrashes) {
  for (const std::string& valid : {ValidFile(), ValidPlainFile()}) {
    ASSERT_TRUE(Exercise(valid));
    const char* const asked = std::getenv("REPRISE_MUTANTS");
    const int64_t trials = asked != nullptr ? std::atoll(asked) : 10000;
    int64_t accepted = 0;
    for (int64_t trial = 0; trial < trials; ++trial) accepted += Exercise(Mutant(valid, static_cast<uint64_t>(trial)));
    EXPECT_GT(accepted, 0);
    EXPECT_LT(accepted, trials / 2);
  }
}

}  // namespace
}  // namespace reprise::models
