#include "pipelines/program/versions.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/comm/mpi/world.h"
#include "data/artifact/format/hdf5/version.h"

namespace reprise {
namespace {

constexpr size_t kLongestRevision = 64;

std::string Revision() {
  const char* const value = std::getenv("REPRISE_REVISION");
  const std::string revision = value == nullptr ? "" : value;
  const bool plausible = !revision.empty() && revision.size() <= kLongestRevision &&
                         std::all_of(revision.begin(), revision.end(), [](char c) {
                           return c == '-' || absl::ascii_isalnum(static_cast<unsigned char>(c));
                         });
  return plausible ? revision : "unknown";
}

std::string Compiler() {
#ifdef __clang__
  return absl::StrCat("clang ", __clang_major__, ".", __clang_minor__, ".", __clang_patchlevel__);
#else
  return absl::StrCat("g++ ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

Versions VersionsOfThisProgram() { return {"0.1.0", Revision(), Compiler(), Hdf5Version(), MpiVersion()}; }

}  // namespace reprise
