#ifndef RL_RUN_EXTERNAL_FILE_H_
#define RL_RUN_EXTERNAL_FILE_H_

#include <string>

#include "core/digest/sha256.h"

namespace reprise::rl {

// A file that a run read, as its artifact names it: "model/" and the name without its directory, or
// "data/problems".
struct ExternalFile {
  std::string name;
  Digest sha256 = {};
};

}  // namespace reprise::rl

#endif  // RL_RUN_EXTERNAL_FILE_H_
