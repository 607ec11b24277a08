#ifndef BENCHMARKS_ARTIFACT_STOPWATCH_H_
#define BENCHMARKS_ARTIFACT_STOPWATCH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace reprise::benchmarks {

// Wall time of one call.
double SecondsOf(const std::function<void()>& body);

// Not empty. Files are timed by medians: a disk has moods.
double Median(std::vector<double> values);

// For what a benchmark cannot go on without: ends the program with the error.
void MustBeOk(const absl::Status& status);

// A directory that exists and is empty until it is destroyed with all that is in it; on the file system of TMPDIR.
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
