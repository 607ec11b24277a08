#include "pipelines/training/reduction.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "core/machine/near_program.h"
#include "core/status/check.h"
#include "kernels/products/substitute.h"

namespace reprise {

bool IsFast(const rl::RunConfig& run) { return run.reduction == rl::Reduction::kFast; }

absl::Status PrepareReduction(const rl::RunConfig& run) {
  if (kernels::SubstituteOfProducts() != nullptr) {
    return absl::FailedPreconditionError(
        "an earlier run of this process had run.reduction = \"fast\", whose library stays in use: start another "
        "process "
        "for this run");
  }
  if (!IsFast(run)) return absl::OkStatus();
  constexpr char kRemedy[] = "bazel build //models/fast_products:libfast_products.so builds it";
  const std::string path = PathNearProgram("models/fast_products/libfast_products.so");
  if (path.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("run.reduction = \"fast\" needs a library that was not built; ", kRemedy));
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("run.reduction = \"fast\": cannot open its library: ", dlerror(), "; ", kRemedy));
  }
  using Function = kernels::ProductSubstitute* (*)();
  const auto products = reinterpret_cast<Function>(dlsym(library, "RepriseFastProducts"));
  CHECK(products != nullptr);
  kernels::SubstituteProducts(products());
  return absl::OkStatus();
}

absl::Status CheckReproducible(const std::string& path, const rl::RunConfig& run) {
  if (!IsFast(run)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path,
      " was made with run.reduction = \"fast\": its sums had no fixed order, so that no execution repeats its bits; "
      "train it with run.reduction = \"exact\""));
}

std::string ReductionNote(const rl::RunConfig& run) {
  return IsFast(run) ? "made with run.reduction = \"fast\": it cannot be reproduced" : "";
}

}  // namespace reprise
