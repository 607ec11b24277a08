#ifndef MODELS_TOKENIZER_ASCII_TOKENIZER_H_
#define MODELS_TOKENIZER_ASCII_TOKENIZER_H_

// The tokenizer of models that are trained from scratch: a token's id is its ASCII code; 0, 1 and 2 are <pad>, <eos>
// and <bos>. No merges, so that a digit is always one token; words that are named are one token each.

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::models {

// tokenizer.json for the bytes below `num_bytes` (3 to 256; bytes from 128 on serve text that is not ASCII) and then
// the words: the ids from num_bytes on. A text has the longest word of those that begin at one place. Words: valid
// UTF-8, different, of two bytes at least.
std::string AsciiTokenizerJson(int64_t num_bytes = 128, const std::vector<std::string>& words = {});

// Its tokenizer_config.json, which names <pad>, <eos> and <bos>.
std::string AsciiTokenizerConfigJson();

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_ASCII_TOKENIZER_H_
