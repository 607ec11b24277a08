#ifndef MODELS_TOKENIZER_ONIGURUMA_NEWER_CHARACTERS_H_
#define MODELS_TOKENIZER_ONIGURUMA_NEWER_CHARACTERS_H_

namespace reprise::models {

// Gives Oniguruma's properties of Unicode, such as \p{L}, the characters that Unicode 15, 15.1 and 16 added: Debian 12
// has Oniguruma 6.9.8 with the tables of Unicode 14, tokenizers 0.23 has 6.9.10 with those of Unicode 16. Has no effect
// with a newer Oniguruma. Precondition: no other call of Oniguruma is running; called once.
void AddNewerCharacters();

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_ONIGURUMA_NEWER_CHARACTERS_H_
