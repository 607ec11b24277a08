#include "benchmarks/artifact/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "core/status/check.h"

namespace reprise::benchmarks {

double MeasureSeconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return seconds.count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void MustBeOk(const absl::Status& status) { CHECK_EQ(status, absl::OkStatus()); }

ScratchDirectory::ScratchDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "reprise_benchmark.XXXXXX").string();
  CHECK(mkdtemp(path_.data()) != nullptr);
}

ScratchDirectory::~ScratchDirectory() { std::filesystem::remove_all(path_); }

}  // namespace reprise::benchmarks
