#ifndef PIPELINES_SWEEPS_SWEEP_FILE_H_
#define PIPELINES_SWEEPS_SWEEP_FILE_H_

// Reads a sweep's file, SWEEP.toml (docs/sweeps.md): which settings its trials have, and how they are compared. Every
// key and value is checked here, with its place; which trials follow is decided in sweep_plan.h.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/literal.h"
#include "core/config/toml_reader.h"

namespace reprise {

// The value of a semantic key, within the key's range.
struct Setting {
  std::string key;  // "optimizer.learning_rate"
  config::Value value;
  config::Place place = {};  // of the value
};

// "optimizer.learning_rate=0.001": a --set argument.
std::string OverrideText(const Setting& setting);

// A key with the values that it takes.
struct Axis {
  std::string key;
  config::Place place = {};  // of the key
  std::vector<config::Value> values;
};

// A key whose values are drawn: one of `choices`, or, if there are none, a number from `low` to `high`.
struct DrawnKey {
  std::string key;
  config::Place place = {};
  std::vector<config::Value> choices = {};
  double low = 0, high = 0;
  bool is_log = false;  // the number's logarithm is uniform
  bool is_whole = false;
};

// A part of the trials with settings of its own, or with a configuration of its own.
struct Variant {
  std::string name = "";  // "": the only one, of a file without variants
  config::Place place = {};
  std::string config_path = "";        // "": no file, every key has its default
  config::Place config_place = {};     // of that path
  std::vector<Setting> settings = {};  // in the order in which they apply
  std::vector<Axis> axes = {};         // after those of the file
};

enum class Summary { kTail, kLast, kBest, kMean };

inline constexpr absl::string_view kSummaryNames[] = {"tail", "last", "best", "mean"};

struct CompareOptions {
  std::string metric = "";  // "": that of the evaluations where there are any, else "reward"
  Summary summary = Summary::kTail;
  bool greater_is_better = true;
  double confidence = 0.95;
  int64_t resamples = 2000;  // of a bootstrap
};

struct SweepFile {
  std::string name;                // without its directory, for messages
  std::string directory = {};      // to which its paths are relative; "": the working directory
  std::vector<Setting> settings;   // of every trial that reads them; a variant's override them
  std::vector<Variant> variants;   // at least one
  std::vector<Axis> axes;          // of [grid]
  std::vector<DrawnKey> drawn;     // of [random]
  config::Place drawn_place = {};  // of `count`
  int64_t draws = 0;               // 0 if nothing is drawn
  int64_t draw_seed = 1;
  CompareOptions compare;
  config::Place metric_place = {};  // of compare.metric
};

// Parses the text of the file `path`, whose directory configurations are relative to. Pure. InvalidArgument, with file,
// line and column: text that is not TOML; an unknown key, with the nearest name; a value out of range; an execution key
// outside [settings]; an empty grid or list of variants; a value that occurs twice; a key that is varied twice.
absl::StatusOr<SweepFile> ParseSweep(absl::string_view text, const std::string& path);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_SWEEP_FILE_H_
