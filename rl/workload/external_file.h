#ifndef RL_WORKLOAD_EXTERNAL_FILE_H_
#define RL_WORKLOAD_EXTERNAL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"

namespace reprise::rl {

// The name of the weights of another run that a run started from.
inline constexpr absl::string_view kInitialWeightsName = "init/weights";

// A file that a run read, as its artifact names it: "model/" and the file's name without its directory,
// "data/problems", "data/held_out", or "init/weights".
struct ExternalFile {
  std::string name;
  Digest sha256 = {};
};

// What the Hugging Face Hub has under a name.
enum class HubKind { kModel, kDataSet };

// Returns whether `path`, of which nothing exists in `directory`, could be OWNER/NAME on the Hugging Face Hub: a name
// that ends like a file's, or whose OWNER is a directory there, is a path. directory: "" for the working directory.
bool CouldBeOfHub(absl::string_view directory, absl::string_view path);

// Completes `found`, the status of a path that a user gave: if nothing is there and the path is an address (https://,
// hf://, file://) or could be a name on the Hugging Face Hub ("allenai/OLMoE-1B-7B-0924"), returns NotFound that says
// what of the Hub can be used, and how; else returns `found`. wanted: what the path must name.
absl::Status RequirePath(const absl::Status& found, absl::string_view path, HubKind kind, absl::string_view wanted);

}  // namespace reprise::rl

#endif  // RL_WORKLOAD_EXTERNAL_FILE_H_
