#ifndef PIPELINES_SWEEPS_SWEEP_PLAN_H_
#define PIPELINES_SWEEPS_SWEEP_PLAN_H_

// Which runs a sweep consists of. A sweep is the product of its variants, its draws and its grid: a pure function of
// the file, of the configurations that it names, and of the command line.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipelines/program/configuration.h"
#include "pipelines/sweeps/sweep_file.h"
#include "rl/config/load.h"

namespace reprise {

// One run of a sweep.
struct Trial {
  int64_t index = 0;               // from 0
  std::string name = {};           // of its folder, and in tables: "07-grpo-lr0.001-seed3"
  std::string named = {};          // the name of its variant, of a file with [[variants]]
  std::string draw = {};           // "draw07"; "" where nothing is drawn
  std::vector<size_t> varied;      // the axes in its name, in that order: indices of SweepPlan::axes
  int64_t base = 0;                // the index of the configuration that it starts from, among those of the file
  rl::ResolvedConfig config = {};  // checked
  std::string arm = {};            // what it has in common with the trials that differ only in run.seed: "grpo-lr0.001"
  // By SweepPlan::axes: the value as a TOML literal; "" if the trial does not read it. A path as it is written.
  std::vector<std::string> settings = {};
};

struct SweepPlan {
  std::vector<std::string> axes;  // the keys in which trials differ, in the order of the file
  CompareOptions compare;
  std::vector<Trial> trials;
  // Keys in which variants of one problem differ, although the file does not vary them: those that algorithm.name or
  // optimizer.preset brings along, or another configuration. By name.
  std::vector<std::string> also_differing;
};

// Reads the sweep file and everything that it names. `ranks` will share a trial at most. Every trial is checked as
// `train` checks its run. InvalidArgument: those of ParseSweep, with file, line and column; two trials with the same
// configuration; a --set of a key that the sweep varies; a metric that no trial can have; a trial whose configuration
// is invalid, which the sentence names. `report` is called after each trial with the number of those that are planned
// and that of all; a trial costs milliseconds, as all of its configuration is read and checked.
absl::StatusOr<SweepPlan> PlanSweep(
    const std::string& path, const KeyEdits& edits, int64_t ranks,
    absl::FunctionRef<void(int64_t, int64_t)> report = [](int64_t, int64_t) {});

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_SWEEP_PLAN_H_
