#include "pipelines/held_out_of.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "kernels/contract/numeric_contract.h"
#include "rl/completions/data_file.h"
#include "rl/completions/prepared_completions.h"
#include "rl/config/workload_traits.h"
#include "rl/episodes/draw_problem.h"
#include "rl/episodes/problem_form.h"
#include "rl/evaluation/held_out_tasks.h"
#include "rl/record/completions/completion_record.h"

namespace reprise {
namespace {

constexpr absl::string_view kUnknownFile =
    "what the run was trained on is unknown here, and may have been these problems: --data FILE names the file of its "
    "training problems, and its run.h5 has all of them";
constexpr absl::string_view kOtherProblems =
    "the run that wrote the model had problems of another kind, with which these cannot be compared";

// The problems that a share holds out were held out of this run only if it was split in the same way.
absl::Status CheckShare(const rl::EvaluationConfig& trained, const rl::EvaluationConfig& evaluation) {
  if (evaluation.held_out_share == 0) return absl::OkStatus();
  if (evaluation.held_out_share > trained.held_out_share || evaluation.split_seed != trained.split_seed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "evaluation.held_out_share ", evaluation.held_out_share, " with split_seed ", evaluation.split_seed,
        ": the run held out ", trained.held_out_share, " with split_seed ", trained.split_seed,
        ", so it was trained on some of these problems: use the run's own share, a smaller one, or --held-out FILE"));
  }
  return absl::OkStatus();
}

// The share by which this program can tell which problems a training held out; 0: it cannot tell of any.
double KnownShare(const ModelTask& task) {
  return task.numeric_contract >= kSplitByPromptSince ? task.config.evaluation.held_out_share : 0;
}

std::string MayHaveUsed(const ModelTask& task, absl::string_view which) {
  const rl::EvaluationConfig& trained = task.config.evaluation;
  const std::string run = absl::StrCat("the run that wrote the model may have been trained on ", which, ": ");
  if (trained.held_out_share == 0) return absl::StrCat(run, "it held out none of the problems that it drew");
  if (KnownShare(task) == 0) {
    return absl::StrCat(run, "it has numeric contract ", task.numeric_contract,
                        ", which held out other problems than contract ", kNumericContract);
  }
  return absl::StrCat(run, "of the problems that it drew, it held out ", trained.held_out_share, " with split_seed ",
                      trained.split_seed);
}

// Counts the tasks that are not on the held-out side of the split of a training that drew its problems.
absl::StatusOr<int64_t> CountMayBeDrawn(const ModelTask& task, const models::Tokenizer& tokenizer,
                                        const std::vector<rl::TaskRecord>& tasks) {
  const uint64_t seed = static_cast<uint64_t>(task.config.evaluation.split_seed);
  ASSIGN_OR_RETURN(const rl::ProblemForms forms, rl::ProblemForms::Create(task.config, tokenizer));
  return std::count_if(tasks.begin(), tasks.end(), [&](const rl::TaskRecord& each) {
    const absl::StatusOr<std::string> form = forms.FormFor(rl::CompletionOf(each).text);
    return !form.ok() || !rl::IsHeldOut(seed, KnownShare(task), *form);
  });
}

// Returns all problems of the training's file, which is identified by its digest, if the evaluation has read it.
std::optional<std::vector<data::Task>> ProblemsOfTraining(const ModelTask& task, const rl::RunParts& parts) {
  const auto trained = std::find_if(task.files.begin(), task.files.end(),
                                    [](const ExternalFile& file) { return file.name == rl::kProblemsName; });
  if (trained == task.files.end()) return std::nullopt;
  const rl::PreparedCompletions& read = rl::CompletionsOf(parts);
  for (const rl::ExternalFile& file : parts.external_files) {
    if (file.sha256 != trained->sha256) continue;
    if (file.name == rl::kHeldOutName) return read.held_out;
    if (file.name != rl::kProblemsName) continue;
    std::vector<data::Task> problems = read.problems;
    if (read.config.evaluation.path.empty()) {  // a share of the file
      problems.insert(problems.end(), read.held_out.begin(), read.held_out.end());
    }
    return problems;
  }
  return std::nullopt;
}

// Counts the tasks that are among the training problems of a file, of which `problems` are all.
absl::StatusOr<int64_t> CountInFile(const ModelTask& task, const models::Tokenizer& tokenizer,
                                    const std::vector<data::Task>& problems, const std::vector<rl::TaskRecord>& tasks) {
  rl::Config config = task.config;
  config.evaluation.held_out_share = KnownShare(task);
  ASSIGN_OR_RETURN(const rl::Split split, rl::SplitOf(config, tokenizer, problems));
  std::set<std::string> prompts;
  for (const int64_t i : split.training) prompts.insert(problems[static_cast<size_t>(i)].prompt);
  return rl::CountTrainedOn(config, tokenizer, prompts, tasks);
}

bool DrawsTexts(const rl::Config& config) { return rl::Traits(config).has_texts; }

}  // namespace

absl::Status CheckSplit(const rl::EvaluationConfig& trained, int64_t contract, const rl::EvaluationConfig& evaluation) {
  RETURN_IF_ERROR(CheckShare(trained, evaluation));
  if (evaluation.held_out_share == 0 || contract >= kSplitByPromptSince) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the run has numeric contract ", contract, ", which held out other problems than contract ",
                   kNumericContract, ": it may have been trained on the current ones; give others by --held-out FILE"));
}

absl::StatusOr<std::string> WhyNotHeldOut(const ModelTask& task, const rl::RunParts& parts,
                                          const std::vector<rl::TaskRecord>& tasks) {
  const models::Tokenizer& tokenizer = *rl::CompletionsOf(parts).tokenizer;
  if (!DrawsTexts(task.config)) return std::string(kOtherProblems);
  if (task.config.data.path.empty()) {
    ASSIGN_OR_RETURN(const int64_t count, CountMayBeDrawn(task, tokenizer, tasks));
    return count == 0 ? "" : MayHaveUsed(task, absl::StrCat(count, " of them"));
  }
  const std::optional<std::vector<data::Task>> problems = ProblemsOfTraining(task, parts);
  if (!problems) return std::string(kUnknownFile);
  ASSIGN_OR_RETURN(const int64_t count, CountInFile(task, tokenizer, *problems, tasks));
  if (count == 0) return "";
  return absl::StrCat("the prompts of ", count, " of them are among those that the run was given to train on");
}

std::string WhyNotHeldOut(const ModelTask& task, const rl::Config& config) {
  const rl::Config& trained = task.config;
  const bool draws_texts = DrawsTexts(trained) && trained.data.path.empty() && trained.environment.name.empty();
  const bool reads_whole = trained.rollout.max_prompt_length == 0;  // others have other forms
  if (!draws_texts || !reads_whole || trained.data.task != config.data.task) return std::string(kOtherProblems);
  const absl::Status split = CheckSplit(trained.evaluation, task.numeric_contract, config.evaluation);
  return split.ok() ? "" : MayHaveUsed(task, "some of them");
}

}  // namespace reprise
