#ifndef CORE_CONFIG_TEXT_LIST_H_
#define CORE_CONFIG_TEXT_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::config {

// Returns the texts of a key whose value is a JSON list, as ["</answer>", "\n"]; an empty value is an empty list.
// InvalidArgument, with the key's name, for anything else and for an empty text. Pure.
absl::StatusOr<std::vector<std::string>> TextListOf(absl::string_view key, const std::string& json);

}  // namespace reprise::config

#endif  // CORE_CONFIG_TEXT_LIST_H_
