#include "pipelines/stored/describe_run.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "kernels/contract/numeric_contract.h"
#include "nlohmann/json.hpp"
#include "pipelines/estimate/cost_tables.h"
#include "pipelines/stored/describe_step.h"
#include "pipelines/stored/phase_name.h"
#include "pipelines/stored/scored_reward.h"

namespace reprise {
namespace {

std::string ColumnText(const ColumnSchema& column) {
  const std::string name = Printable(column.name), text = absl::StrCat(name, " ", NameOf(column.dtype));
  if (column.kind == ColumnKind::kScalar) return text;
  if (column.kind == ColumnKind::kString) return absl::StrCat(name, " string");
  return column.kind == ColumnKind::kFixed ? absl::StrCat(text, "[", column.width, "]") : absl::StrCat(text, "[]");
}

int64_t BytesOf(const StreamInfo& stream) {
  int64_t bytes = 0;
  for (int64_t column : stream.column_bytes) bytes += column;
  return bytes;
}

// NaN where nothing could be scored, which is null in JSON.
std::vector<double> TrainingRewards(const StoredRun& run) {
  std::vector<double> rewards;
  for (const rl::StepTables& step : run.steps) {
    if (step.phase == rl::Phase::kTraining) rewards.push_back(ScoredReward(rl::ReadResults(step)));
  }
  return rewards;
}

}  // namespace

std::string DescribeFile(const StoredRun& stored) {
  const RunReader& run = *stored.reader;
  const bool is_unfinished = !stored.unfinished_in.empty();
  std::string text;
  if (is_unfinished) {
    absl::StrAppend(&text, "unfinished        what follows is of the ", run.steps().size(),
                    " steps that are committed, SFT phase included\n");
  }
  absl::StrAppend(&text, "run digest        sha256:", run.run_digest_hex(), "\n");
  if (!is_unfinished) absl::StrAppend(&text, "run.h5            sha256:", run.file_sha256_hex(), "\n");
  absl::StrAppend(&text, "configuration     sha256:", run.config_sha256_hex(), "\n");
  absl::StrAppend(&text, "numeric contract  ", kNumericContract, "\n");
  absl::StrAppend(&text, "\nconfiguration\n");
  for (const absl::string_view line : absl::StrSplit(run.config_text(), '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, "  ", line, "\n");
  }
  if (!run.header().external_files.empty()) absl::StrAppend(&text, "\nfiles that the run read\n");
  for (const ExternalFile& file : run.header().external_files) {
    absl::StrAppend(&text, "  ", Printable(file.name), "  sha256:", ToHex(file.sha256), "\n");
  }
  absl::StrAppend(&text, "\nstreams\n");
  for (const StreamInfo& stream : run.streams()) {
    const auto append_column = [](std::string* out, const ColumnSchema& column) {
      absl::StrAppend(out, ColumnText(column));
    };
    absl::StrAppendFormat(&text, "  %s (version %d): %d rows, %s\n    %s\n", Printable(stream.schema.name),
                          stream.schema.version, stream.rows, FormatBytes(BytesOf(stream)),
                          absl::StrJoin(stream.schema.columns, ", ", append_column));
  }
  absl::StrAppend(&text, "\ncheckpoints\n");
  if (run.checkpoints().empty()) absl::StrAppend(&text, "  none\n");
  for (const CheckpointInfo& checkpoint : run.checkpoints()) {
    absl::StrAppendFormat(&text, "  after step %d of the file: %s, %d tensors, %s%s\n", checkpoint.step,
                          checkpoint.group, checkpoint.tensors.size(), FormatBytes(checkpoint.bytes),
                          checkpoint.is_external ? ", in a file of its own" : "");
  }
  return text;
}

absl::StatusOr<std::string> DescribeSteps(const StoredRun& run, const TokenText& text_of) {
  const std::vector<double> rewards = TrainingRewards(run);
  std::string text =
      absl::StrCat("steps: ", run.steps.size() - rewards.size(), " of SFT, ", rewards.size(), " of training\n");
  for (const std::string& line : RewardCurve(rewards)) absl::StrAppend(&text, "  ", line, "\n");
  if (run.steps.empty()) return text;
  absl::StrAppend(&text, "\nlast steps\n");
  constexpr size_t kShown = 3;
  for (size_t i = run.steps.size() - std::min(kShown, run.steps.size()); i < run.steps.size(); ++i) {
    const rl::StepTables& step = run.steps[i];
    const bool sft = step.phase == rl::Phase::kSft;
    const std::string result =
        sft ? absl::StrFormat("loss %.3f", GetMetric(step, "loss")) : ScoredRewardText(rl::ReadResults(step));
    absl::StrAppendFormat(&text, "  %s step %d: %s\n", PhaseTitle(step.phase), step.step, result);
  }
  if (run.steps.back().phase != rl::Phase::kTraining) return text;
  ASSIGN_OR_RETURN(const std::vector<std::string> lines, SampleLines(run.config, run.steps.back(), text_of));
  if (!lines.empty()) absl::StrAppend(&text, "\nsamples of training step ", run.steps.back().step, "\n");
  for (const std::string& line : lines) absl::StrAppend(&text, "  ", line, "\n");
  return text;
}

nlohmann::ordered_json RunJson(const StoredRun& run, bool interpreted) {
  const RunReader& reader = *run.reader;
  nlohmann::ordered_json json = {{"event", "run"},
                                 {"run_digest", reader.run_digest_hex()},
                                 {"run_sha256", reader.file_sha256_hex()},
                                 {"unfinished", !run.unfinished_in.empty()},
                                 {"config_sha256", reader.config_sha256_hex()},
                                 {"numeric_contract", kNumericContract},
                                 {"configuration", reader.config_text()}};
  if (!run.unfinished_in.empty()) json.erase("run_sha256");
  json["external_files"] = nlohmann::ordered_json::object();
  for (const ExternalFile& file : reader.header().external_files) {
    json["external_files"][file.name] = ToHex(file.sha256);
  }
  json["streams"] = nlohmann::ordered_json::array();
  for (const StreamInfo& stream : reader.streams()) {
    nlohmann::ordered_json columns = nlohmann::ordered_json::array();
    for (const ColumnSchema& column : stream.schema.columns) columns.push_back(ColumnText(column));
    json["streams"].push_back({{"name", stream.schema.name},
                               {"version", stream.schema.version},
                               {"rows", stream.rows},
                               {"bytes", BytesOf(stream)},
                               {"columns", columns}});
  }
  json["checkpoints"] = nlohmann::ordered_json::array();
  for (const CheckpointInfo& checkpoint : reader.checkpoints()) {
    json["checkpoints"].push_back({{"step", checkpoint.step},
                                   {"group", checkpoint.group},
                                   {"tensors", checkpoint.tensors.size()},
                                   {"bytes", checkpoint.bytes}});
  }
  if (!interpreted) return json;
  const std::vector<double> rewards = TrainingRewards(run);
  json["sft_steps"] = run.steps.size() - rewards.size();
  json["training_steps"] = rewards.size();
  json["rewards"] = rewards;
  return json;
}

std::vector<std::string> RewardCurve(const std::vector<double>& rewards) {
  constexpr size_t kMostRows = 10;
  constexpr double kBar = 40;  // characters of a reward of 1
  const size_t rows = std::min(kMostRows, rewards.size());
  std::vector<std::string> lines;
  for (size_t row = 0; row < rows; ++row) {
    const size_t begin = rewards.size() * row / rows, end = rewards.size() * (row + 1) / rows;
    double sum = 0;
    size_t scored = 0;
    for (size_t i = begin; i < end; ++i) {
      if (std::isnan(rewards[i])) continue;
      sum += rewards[i];
      ++scored;
    }
    if (scored == 0) {
      lines.push_back(absl::StrFormat("steps %4d-%-4d  nothing scored", begin + 1, end));
      continue;
    }
    const double mean = sum / static_cast<double>(scored);
    const double shown = mean > 0 ? std::min(mean, 1.0) : 0.0;
    const std::string bar(static_cast<size_t>(shown * kBar + 0.5), '#');
    lines.push_back(absl::StrFormat("steps %4d-%-4d  mean reward %.3f  %s", begin + 1, end, mean, bar));
  }
  return lines;
}

}  // namespace reprise
