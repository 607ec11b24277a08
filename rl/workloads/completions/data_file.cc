#include "rl/workloads/completions/data_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/jsonl/task_lines.h"
#include "rl/config/reward_choice.h"
#include "rl/episodes/draw_problem.h"
#include "rl/episodes/prompt.h"
#include "rl/workload/external_file.h"

namespace reprise::rl {
namespace {

absl::StatusOr<std::vector<data::Task>> ReadProblems(const std::string& path, absl::string_view name, DataFile* data) {
  const absl::StatusOr<FileInfo> found = PosixFileSystem().Stat(path);
  RETURN_IF_ERROR(RequirePath(found.status(), path, HubKind::kDataSet, "a file of problems"));
  if (found->is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a directory; expected a file of problems"));
  }
  ASSIGN_OR_RETURN(data::TaskFile file, data::ReadTaskFile(PosixFileSystem(), path));
  data->files.push_back({std::string(name), file.sha256});
  return std::move(file.tasks);
}

absl::StatusOr<std::vector<std::string>> PromptsAsRead(const RolloutConfig& rollout, const models::Tokenizer& tokenizer,
                                                       const std::vector<data::Task>& problems,
                                                       const std::string& path) {
  std::vector<std::string> prompts;
  for (const data::Task& problem : problems) {
    absl::StatusOr<std::string> prompt = PromptAsRead(rollout, tokenizer, problem.prompt);
    if (!prompt.ok()) return WithContext(prompt.status(), absl::StrCat(path, ":", problem.line));
    prompts.push_back(*std::move(prompt));
  }
  return prompts;
}

// Returns what compares with answers, or learns them; empty: nothing does.
absl::StatusOr<std::string> ReaderOfAnswers(const Config& config, bool trains) {
  ASSIGN_OR_RETURN(const RewardChoice rewards, ParseRewardChoice(config.algorithm.reward));
  for (const std::string& function : rewards.functions) {
    if (function != kEnvironmentReward && function != kProcessReward) {
      return absl::StrCat("algorithm.reward ", function, " compares with it");
    }
  }
  return trains && config.sft.steps > 0 ? "the SFT phase learns it (sft.steps)" : "";
}

absl::Status CheckAnswers(const Config& config, const std::string& path, bool trains,
                          const std::vector<data::Task>& problems) {
  ASSIGN_OR_RETURN(const std::string reader, ReaderOfAnswers(config, trains));
  if (reader.empty()) return absl::OkStatus();
  for (const data::Task& problem : problems) {
    if (problem.has_answer) continue;
    return absl::DataLossError(absl::StrCat(path, ":", problem.line, ":1: \"answer\" is missing; ", reader,
                                            R"(; expected lines as {"prompt": "12+7=", "answer": "19"})"));
  }
  return absl::OkStatus();
}

absl::Status HoldOut(const Config& config, const models::Tokenizer& tokenizer, DataFile* data) {
  const double share = config.evaluation.held_out_share;
  ASSIGN_OR_RETURN(const Split split, SplitProblems(config, tokenizer, data->problems));
  if (split.training.empty() || split.held_out.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation.held_out_share ", share, " of ", config.data.path, " leaves no problem ",
                     split.training.empty() ? "for training" : "for evaluations", "; it has ", data->problems.size(),
                     split.training.empty() ? ": lower" : ": raise", " the share, or give the file more problems"));
  }
  std::vector<data::Task> training;
  for (const int64_t i : split.training) training.push_back(std::move(data->problems[i]));
  for (const int64_t i : split.held_out) data->held_out.push_back(std::move(data->problems[i]));
  data->problems = std::move(training);
  return absl::OkStatus();
}

// Warns of problems that are in both files: they are not held out, whatever the names of the files are.
absl::Status CompareFiles(const Config& config, const models::Tokenizer& tokenizer, DataFile* data) {
  ASSIGN_OR_RETURN(const std::vector<std::string> trained,
                   PromptsAsRead(config.rollout, tokenizer, data->problems, config.data.path));
  ASSIGN_OR_RETURN(const std::vector<std::string> evaluated,
                   PromptsAsRead(config.rollout, tokenizer, data->held_out, config.evaluation.path));
  const std::set<std::string> known(trained.begin(), trained.end());
  const auto both = std::count_if(evaluated.begin(), evaluated.end(), [&](const auto& p) { return known.contains(p); });
  if (both == 0) return absl::OkStatus();
  data->warning = absl::StrCat("evaluation.path: the prompts of ", both, " of its ", evaluated.size(),
                               " problems are in data.path too, so they are trained on and not held out: remove "
                               "them from one of the files, or omit evaluation.path and hold out a share of "
                               "data.path (evaluation.held_out_share)");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Split> SplitProblems(const Config& config, const models::Tokenizer& tokenizer,
                                    const std::vector<data::Task>& problems) {
  ASSIGN_OR_RETURN(const std::vector<std::string> prompts,
                   PromptsAsRead(config.rollout, tokenizer, problems, config.data.path));
  return SplitByForm(prompts, static_cast<uint64_t>(config.evaluation.split_seed), config.evaluation.held_out_share);
}

absl::StatusOr<DataFile> ReadDataFile(const Config& config, const models::Tokenizer& tokenizer) {
  DataFile data;
  if (!config.data.path.empty()) {
    ASSIGN_OR_RETURN(data.problems, ReadProblems(config.data.path, kProblemsName, &data));
    RETURN_IF_ERROR(CheckAnswers(config, config.data.path, /*trains=*/true, data.problems));
  }
  if (!config.evaluation.path.empty()) {
    ASSIGN_OR_RETURN(data.held_out, ReadProblems(config.evaluation.path, kHeldOutName, &data));
    RETURN_IF_ERROR(CheckAnswers(config, config.evaluation.path, /*trains=*/false, data.held_out));
  }
  if (config.evaluation.held_out_share > 0 && !data.problems.empty()) {
    RETURN_IF_ERROR(HoldOut(config, tokenizer, &data));
  }
  if (!config.data.path.empty() && !config.evaluation.path.empty()) {
    RETURN_IF_ERROR(CompareFiles(config, tokenizer, &data));
  }
  return data;
}

}  // namespace reprise::rl
