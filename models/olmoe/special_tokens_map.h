#ifndef MODELS_OLMOE_SPECIAL_TOKENS_MAP_H_
#define MODELS_OLMOE_SPECIAL_TOKENS_MAP_H_

#include <string>

#include "absl/status/statusor.h"

namespace reprise::models {

inline constexpr char kSpecialTokensMapFile[] = "special_tokens_map.json";

// Returns DIRECTORY/special_tokens_map.json, which Transformers 4 wrote and read beside tokenizer_config.json, if it
// names an end token that the latter does not; else "", as where there is no such file or `directory` is empty.
// InvalidArgument, beginning with the path, for a malformed file; else errors of ReadOptionalFile.
absl::StatusOr<std::string> ReadSpecialTokensMap(const std::string& directory);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_SPECIAL_TOKENS_MAP_H_
