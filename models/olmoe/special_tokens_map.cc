#include "models/olmoe/special_tokens_map.h"

#include <optional>
#include <utility>

#include "core/io/file_system.h"
#include "core/io/optional_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/tokenizer_config.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxBytes = int64_t{256} << 20;

// Returns the end token that the text of either file names; nullopt if it names none.
absl::StatusOr<std::optional<std::string>> EndTokenOf(const std::optional<std::string>& text, const std::string& path) {
  if (!text) return std::nullopt;
  absl::StatusOr<SpecialTokenNames> names = ParseTokenizerConfig(*text);
  if (!names.ok()) return WithContext(names.status(), path);
  return std::move(names->eos);
}

}  // namespace

absl::StatusOr<std::string> ReadSpecialTokensMap(const std::string& directory) {
  if (directory.empty()) return std::string();
  const std::string path = JoinPath(directory, kSpecialTokensMapFile);
  const std::string config_path = JoinPath(directory, "tokenizer_config.json");
  ASSIGN_OR_RETURN(std::optional<std::string> text, ReadOptionalFile(path, kMaxBytes));
  ASSIGN_OR_RETURN(const std::optional<std::string> token, EndTokenOf(text, path));
  if (!token) return std::string();
  ASSIGN_OR_RETURN(const std::optional<std::string> config, ReadOptionalFile(config_path, kMaxBytes));
  ASSIGN_OR_RETURN(const std::optional<std::string> known, EndTokenOf(config, config_path));
  return token == known ? std::string() : *std::move(text);
}

}  // namespace reprise::models
