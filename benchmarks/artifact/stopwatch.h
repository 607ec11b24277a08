#ifndef BENCHMARKS_ARTIFACT_STOPWATCH_H_
#define BENCHMARKS_ARTIFACT_STOPWATCH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace reprise::benchmarks {

// Returns the wall time of one call.
double MeasureSeconds(const std::function<void()>& body);

// Returns the median; `values` must not be empty. File operations are timed by medians, because disk times vary.
double Median(std::vector<double> values);

// Ends the program if the status is an error.
void MustBeOk(const absl::Status& status);

// A new, empty directory on the file system of TMPDIR. The destructor removes it with its contents.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_ARTIFACT_STOPWATCH_H_
