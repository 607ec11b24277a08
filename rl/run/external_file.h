#ifndef RL_RUN_EXTERNAL_FILE_H_
#define RL_RUN_EXTERNAL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"

namespace reprise::rl {

// The weights of another run that a run began with.
inline constexpr absl::string_view kInitialWeightsName = "init/weights";

// What a run read, as its artifact names it: "model/" and the name of a file without its directory, "data/problems", or
// "init/weights".
struct ExternalFile {
  std::string name;
  Digest sha256 = {};
};

// What was found out about a path that a user gave: where nothing is there and the path could be a name of the Hugging
// Face Hub ("allenai/OLMoE-1B-7B-0924"), NotFound with the way from there to a path; else `found`. kind: what the Hub
// would have under that name, "a model" or "a data set"; wanted: what the path must name.
absl::Status RequirePath(const absl::Status& found, absl::string_view path, absl::string_view kind,
                         absl::string_view wanted);

}  // namespace reprise::rl

#endif  // RL_RUN_EXTERNAL_FILE_H_
