#include "tests/golden_trace/trace.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "pipelines/stored/stored_run.h"
#include "rl/record/record_schema.h"

namespace reprise::testing {
namespace {

std::string FormatWeights(const rl::StepResults& results) {
  Sha256Stream stream;
  for (const Digest& digest : results.weight_digests) stream.Update(absl::MakeConstSpan(digest));
  return ToHex(stream.Current());
}

std::string FormatTrace(const StoredRun& run) {
  std::string trace;
  for (const rl::StepTables& step : run.steps) {
    const rl::StepResults results = rl::ReadResults(step);
    absl::StrAppendFormat(&trace, "%s %d", results.phase == rl::Phase::kSft ? "sft" : "training", results.step);
    for (const char* wanted : {"reward", "loss", "grad_norm"}) {
      for (const auto& [name, value] : results.metrics) {
        if (name == wanted) absl::StrAppendFormat(&trace, " %s %a", name, value);
      }
    }
    absl::StrAppendFormat(&trace, " weights %s\n", FormatWeights(results));
  }
  return trace;
}

}  // namespace

absl::StatusOr<std::string> TraceOfRun(const std::string& path) {
  ASSIGN_OR_RETURN(const StoredRun run, OpenStoredRun(path));
  return absl::StrCat(FormatTrace(run), "run digest ", run.reader->run_digest_hex(), "\n");
}

}  // namespace reprise::testing
