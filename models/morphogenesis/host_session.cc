#include "models/morphogenesis/host_session.h"

#include <dlfcn.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/machine/near_program.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

// That of :network_session where the program depends on it, else null.
extern "C" __attribute__((weak)) absl::StatusOr<std::unique_ptr<reprise::models::HostSession>> RepriseCreateHostSession(
    reprise::models::SessionOptions options, const reprise::models::EpisodeCoordinates& episode);

namespace reprise::models {
namespace {

using CreateHostSession = absl::StatusOr<std::unique_ptr<HostSession>>(SessionOptions, const EpisodeCoordinates&);

// Opens the library. It stays open: sessions of it may exist until the program ends.
absl::StatusOr<CreateHostSession*> OpenLibrary() {
  constexpr char kRemedy[] = "bazel build //models/morphogenesis:libhost_networks.so builds it";
  const std::string path = PathNearProgram("models/morphogenesis/libhost_networks.so");
  if (path.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("networks that grow need a library that was not built; ", kRemedy));
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot open the library of networks that grow: ", dlerror(), "; ", kRemedy));
  }
  const auto start = reinterpret_cast<absl::Status (*)()>(dlsym(library, "RepriseStartHostLibrary"));
  const auto create = reinterpret_cast<CreateHostSession*>(dlsym(library, "RepriseCreateHostSession"));
  CHECK(start != nullptr && create != nullptr);
  RETURN_IF_ERROR(start());
  return create;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostSession>> HostSession::Create(SessionOptions options,
                                                                 const EpisodeCoordinates& episode) {
  if (RepriseCreateHostSession != nullptr) return RepriseCreateHostSession(std::move(options), episode);
  static const absl::StatusOr<CreateHostSession*> create = OpenLibrary();
  RETURN_IF_ERROR(create.status());
  return (*create)(std::move(options), episode);
}

}  // namespace reprise::models
