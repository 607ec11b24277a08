#ifndef MODELS_MORPHOGENESIS_GUARDED_H_
#define MODELS_MORPHOGENESIS_GUARDED_H_

#include <exception>
#include <new>

#include "ATen/Parallel.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace reprise::models {

// LibTorch's own threads stay out of it: a session is one of many that run at once.
inline void UseOneThread() {
  thread_local const bool done = [] {
    at::set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

// Calls `run`, whose result is a Status or StatusOr, where LibTorch or the standard library may throw for want of
// memory. ResourceExhausted: there is none; Internal: LibTorch fails for another reason.
template <typename Run>
auto Guarded(const Run& run) -> decltype(run()) {
  // LibTorch's allocator has no exception of its own.
  constexpr absl::string_view kNoMemory = "can't allocate memory", kRemedy = ": choose a smaller batch or host";
  UseOneThread();
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("not enough memory for a host network", kRemedy));
  } catch (const std::exception& error) {
    if (absl::StrContains(error.what(), kNoMemory)) {
      return absl::ResourceExhaustedError(absl::StrCat("not enough memory for a host network", kRemedy));
    }
    return absl::InternalError(absl::StrCat("LibTorch failed in a host network: ", error.what()));
  }
}

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_GUARDED_H_
