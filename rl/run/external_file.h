#ifndef RL_RUN_EXTERNAL_FILE_H_
#define RL_RUN_EXTERNAL_FILE_H_

#include <string>

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

}  // namespace reprise::rl

#endif  // RL_RUN_EXTERNAL_FILE_H_
