#ifndef CORE_MACHINE_NEAR_PROGRAM_H_
#define CORE_MACHINE_NEAR_PROGRAM_H_

#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// Returns the path of `name`, a relative path, in the nearest folder above this process's program that has a readable
// file of that name: where a build puts the libraries that a program opens when it needs them. Empty if there is none.
std::string PathNearProgram(absl::string_view name);

}  // namespace reprise

#endif  // CORE_MACHINE_NEAR_PROGRAM_H_
