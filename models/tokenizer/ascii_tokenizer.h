#ifndef MODELS_TOKENIZER_ASCII_TOKENIZER_H_
#define MODELS_TOKENIZER_ASCII_TOKENIZER_H_

// The tokenizer of models that are trained from scratch: a token's id is its ASCII code; 0, 1 and 2 are <pad>, <eos>
// and <bos>. No merges, so that a digit is always one token.

#include <cstdint>
#include <string>

namespace reprise::models {

// tokenizer.json for the bytes below `vocab_size` (3 to 256; bytes from 128 on serve text that is not ASCII).
std::string AsciiTokenizerJson(int64_t vocab_size = 128);

// Its tokenizer_config.json, which names <pad>, <eos> and <bos>.
std::string AsciiTokenizerConfigJson();

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_ASCII_TOKENIZER_H_
