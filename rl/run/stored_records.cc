#include "rl/run/stored_records.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/run/step_number.h"
#include "rl/run/workloads.h"

namespace reprise::rl {

absl::StatusOr<std::vector<StepTables>> ReadSteps(const RunReader& reader, const Config& config) {
  const RecordSchema schema = MakeRecordSchema(config);
  const std::vector<StreamInfo> stored = reader.streams();
  for (const StreamSchema& wanted : schema.streams) {
    const auto found = std::find_if(stored.begin(), stored.end(),
                                    [&](const StreamInfo& stream) { return stream.schema.name == wanted.name; });
    if (found == stored.end()) return absl::DataLossError(reader.ReadStream(wanted.name).status().message());
    if (found->schema == wanted) continue;
    return absl::DataLossError(absl::StrCat("its stream ", wanted.name, " does not have the columns of version ",
                                            wanted.version, ": use the version of Reprise that wrote it"));
  }
  std::vector<StepTables> steps;
  for (const int64_t number : reader.steps()) {
    StepTables& step = steps.emplace_back();
    std::tie(step.phase, step.step) = StepOfNumber(config, number);
    for (const StreamSchema& wanted : schema.streams) {
      ASSIGN_OR_RETURN(StreamTable table, reader.ReadStream(wanted.name, number));
      step.tables.push_back(std::move(table));
    }
    RETURN_IF_ERROR(WithContext(CheckTables(schema, step), StepName(step.phase, step.step)));
    RETURN_IF_ERROR(WithContext(CheckEpisodes(config, step), StepName(step.phase, step.step)));
  }
  return steps;
}

absl::Status CheckEpisodes(const Config& config, const StepTables& step) {
  const bool is_sft = step.phase == Phase::kSft;
  const int64_t prompts = is_sft ? config.sft.prompts_per_step : config.rollout.prompts_per_step;
  const int64_t samples = is_sft ? 1 : config.rollout.num_generations;
  const StreamTable* const episodes = step.Find("episodes");
  const int64_t rows = episodes == nullptr ? 0 : episodes->rows();
  if (rows == prompts * samples) return absl::OkStatus();
  const std::string keys =
      is_sft ? absl::StrCat("sft.prompts_per_step ", prompts)
             : absl::StrCat("rollout.prompts_per_step ", prompts, " with rollout.num_generations ", samples);
  return absl::DataLossError(absl::StrCat("stream episodes has ", rows, " rows of one step; its configuration's ", keys,
                                          " gives ", prompts * samples));
}

}  // namespace reprise::rl
