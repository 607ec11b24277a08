#ifndef PIPELINES_SWEEPS_STORED_PLAN_H_
#define PIPELINES_SWEEPS_STORED_PLAN_H_

// What a sweep's folder keeps of its plan, plan.json: enough to judge its trials without the sweep's file, and the
// identity of the sweep.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/artifact/format/run_header.h"
#include "pipelines/sweeps/sweep_file.h"
#include "pipelines/sweeps/sweep_plan.h"

namespace reprise {

struct PlannedTrial {
  std::string name, arm;
  std::string problem;        // a digest: only trials with the same one can be compared
  std::string config_sha256;  // of the configuration as its run stores it, without paths; hexadecimal
  int64_t base = 0;           // as in Trial
  int64_t seed = 0;
  std::vector<std::string> settings;     // as in Trial, of a path with SettingSuffix
  std::string named = {}, draw = {};     // as in Trial
  std::vector<size_t> varied = {};       // as in Trial
  std::vector<ExternalFile> files = {};  // that its run reads, by name; none as well where they could not be read
};

struct StoredPlan {
  std::vector<std::string> axes;
  CompareOptions compare;
  std::vector<PlannedTrial> trials;
};

// Without the trials' files, which AddFiles reads. Pure.
StoredPlan MakeStoredPlan(const SweepPlan& plan);

// Sets the files of a trial, and what depends on them. `text`: StoredText of its configuration. Pure.
void SetFiles(const std::string& text, std::vector<ExternalFile> files, const std::vector<std::string>& axes,
              PlannedTrial* trial);

// Returns the name of the first file that only one of the two has, or that has two digests; "" if there is none. Pure.
std::string FirstOtherFile(const std::vector<ExternalFile>& a, const std::vector<ExternalFile>& b);

// Reads the files of all trials. Files that cannot be read are left out: the trial that reads them says why.
void AddFiles(const SweepPlan& plan, StoredPlan* stored);

// Returns JSON, a line for each trial. It depends on no path but those that are varied, which are as they are written.
// Pure.
std::string PlanText(const StoredPlan& plan);

// The inverse. DataLoss for any text that PlanText does not write: names of trials are names of folders, and are
// checked to be nothing else. Pure.
absl::StatusOr<StoredPlan> ParsePlan(absl::string_view text);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_STORED_PLAN_H_
