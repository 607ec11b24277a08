#include "pipelines/trained_prompts.h"

#include <algorithm>
#include <vector>

#include "core/status/status_macros.h"
#include "pipelines/stored/stored_weights.h"
#include "rl/workloads/completions/data_file.h"
#include "rl/workloads/completions/prepared_completions.h"

namespace reprise {
namespace {

// Returns the prompts of the problems of data.path, where they were read, on which the run trains. With a file of
// held-out problems, the target's configuration has no split, but the run may have one.
absl::StatusOr<std::set<std::string>> PromptsOfFile(const rl::Config& trained, const EvaluationTarget& target,
                                                    const rl::PreparedCompletions& completions) {
  const bool is_split = !target.config.evaluation.path.empty() && trained.evaluation.held_out_share > 0;
  std::set<std::string> prompts;
  if (!is_split) {
    for (const data::Task& problem : completions.problems) prompts.insert(problem.prompt);
    return prompts;
  }
  rl::Config config = target.config;
  config.evaluation = trained.evaluation;
  ASSIGN_OR_RETURN(const rl::Split split, rl::SplitProblems(config, *completions.tokenizer, completions.problems));
  for (const int64_t i : split.training) prompts.insert(completions.problems[i].prompt);
  return prompts;
}

// Adds the held-out problems where their file is the one that a run was trained on, which `stored` identifies.
void AddIfTrainedOn(const std::vector<ExternalFile>& stored, const rl::RunParts& parts,
                    std::set<std::string>* prompts) {
  for (const ExternalFile& trained : stored) {
    if (trained.name != rl::kProblemsName) continue;
    for (const rl::ExternalFile& file : parts.external_files) {
      if (file.name != rl::kHeldOutName || file.sha256 != trained.sha256) continue;
      for (const data::Task& problem : rl::GetPreparedCompletions(parts).held_out) prompts->insert(problem.prompt);
    }
  }
}

// Whether data.path is the file of a training, which `stored` identifies.
bool HaveSameProblems(const std::vector<ExternalFile>& stored, const rl::RunParts& parts) {
  return std::any_of(stored.begin(), stored.end(), [&](const ExternalFile& trained) {
    return trained.name == rl::kProblemsName &&
           std::any_of(parts.external_files.begin(), parts.external_files.end(), [&](const rl::ExternalFile& file) {
             return file.name == rl::kProblemsName && file.sha256 == trained.sha256;
           });
  });
}

}  // namespace

absl::StatusOr<std::set<std::string>> PromptsToTrainOn(const StoredRun& run, const EvaluationTarget& target,
                                                       const EvaluatedModel& model) {
  const rl::RunParts& parts = model.parts;
  ASSIGN_OR_RETURN(std::set<std::string> prompts, PromptsOfFile(run.config, target, rl::GetPreparedCompletions(parts)));
  prompts.merge(PromptsUpTo(run, model.step));
  if (run.config.evaluation.held_out_share == 0) AddIfTrainedOn(run.reader->header().external_files, parts, &prompts);
  return prompts;
}

absl::StatusOr<std::set<std::string>> PromptsKnownOfModel(const EvaluationTarget& target, const rl::RunParts& parts) {
  // The training's own file is split as the training has split it.
  const bool is_own_file = target.task && HaveSameProblems(target.task->files, parts);
  const rl::Config& trained = is_own_file ? target.task->config : target.config;
  ASSIGN_OR_RETURN(std::set<std::string> prompts, PromptsOfFile(trained, target, rl::GetPreparedCompletions(parts)));
  if (target.task && target.task->config.evaluation.held_out_share == 0) {
    AddIfTrainedOn(target.task->files, parts, &prompts);
  }
  return prompts;
}

}  // namespace reprise
