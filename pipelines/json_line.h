#ifndef PIPELINES_JSON_LINE_H_
#define PIPELINES_JSON_LINE_H_

#include <cstdio>
#include <string>

#include "nlohmann/json.hpp"

namespace reprise {

// An object as one line on stdout. Bytes that are not UTF-8, as paths and a model's text may hold, become U+FFFD;
// numbers that JSON cannot express become null.
inline void PrintJsonLine(const nlohmann::ordered_json& object) {
  const std::string line = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::printf("%s\n", line.c_str());
}

}  // namespace reprise

#endif  // PIPELINES_JSON_LINE_H_
