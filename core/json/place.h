#ifndef CORE_JSON_PLACE_H_
#define CORE_JSON_PLACE_H_

// What the sources of this folder share about names and places.

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace reprise::internal {

inline absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

// Returns the JSON Pointer (RFC 6901) of a member.
inline std::string Child(absl::string_view place, absl::string_view key) {
  return absl::StrCat(place, "/", absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}}));
}

}  // namespace reprise::internal

#endif  // CORE_JSON_PLACE_H_
