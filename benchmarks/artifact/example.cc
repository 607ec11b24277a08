#include "benchmarks/artifact/example.h"

#include <numeric>
#include <vector>

namespace reprise::benchmarks {

RunHeader TokenRun() {
  return {.config_text = "", .external_files = {}, .streams = {{"episodes", 1, {RaggedColumn("tokens", DType::kI32)}}}};
}

StreamTable TokenStep(int64_t bytes) {
  constexpr int64_t kRowTokens = 1024;
  StreamTable table(TokenRun().streams[0]);
  std::vector<int32_t> row(kRowTokens);
  for (int64_t done = 0; done < bytes; done += kRowTokens * 4) {
    std::iota(row.begin(), row.end(), static_cast<int32_t>(done));
    table.AppendRaggedI32(0, row);
  }
  return table;
}

}  // namespace reprise::benchmarks
