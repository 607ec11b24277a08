#include "pipelines/stored/known_config.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"
#include "core/config/resolve.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "pipelines/stored/stored_shape.h"
#include "rl/run/step_number.h"

namespace reprise {
namespace {

constexpr size_t kMostUnknown = 1000;

// Returns an algorithm with a value function, whose tensors are stored behind the others.
rl::Config WithValues(rl::Config config) {
  config.algorithm = rl::FindAlgorithm("ppo").value();
  return config;
}

int64_t LastTrainingStep(const StoredRun& run) {
  int64_t last = 0;
  for (const int64_t number : run.reader->steps()) {
    const auto [phase, step] = rl::StepOfNumber(run.config, number);
    if (phase == rl::Phase::kTraining) last = std::max(last, step);
  }
  return last;
}

}  // namespace

absl::StatusOr<KnownConfig> ParseKnownConfig(const std::string& text) {
  KnownConfig known;
  config::FieldList fields;
  rl::Visit(fields, known.config);
  config::Settings settings(fields);
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (settings.AddOverride(line).ok()) continue;
    known.unknown.emplace_back(line);
    if (known.unknown.size() > kMostUnknown) return absl::DataLossError("its configuration is not one of Reprise");
  }
  config::Origins origins;
  settings.Store(origins);
  RETURN_IF_ERROR(CheckIsStored(known.config, origins));
  return known;
}

absl::StatusOr<std::vector<std::string>> InterpretWeights(const std::string& path, StoredRun* run) {
  const absl::Status interpreted = Interpret(path, run);
  if (interpreted.ok()) return std::vector<std::string>();
  if (ParseStoredConfig(run->reader->config_text()).ok()) return interpreted;
  absl::StatusOr<KnownConfig> known = ParseKnownConfig(run->reader->config_text());
  if (!known.ok() || known->unknown.empty()) return interpreted;
  run->config = known->config;
  absl::Status fits = CheckModelIsStored(*run->reader, run->config);
  if (!fits.ok() && CheckModelIsStored(*run->reader, WithValues(run->config)).ok()) {
    run->config = WithValues(run->config);
    fits = absl::OkStatus();
  }
  if (!fits.ok()) {
    return absl::DataLossError(absl::StrCat(path, ": ", fits.message(),
                                            "; of its configuration, this program does not know ", known->unknown[0],
                                            known->unknown.size() > 1 ? ", ..." : "", ": ", kWhereRevisionIs));
  }
  run->last_training_step = LastTrainingStep(*run);
  return std::move(known->unknown);
}

}  // namespace reprise
