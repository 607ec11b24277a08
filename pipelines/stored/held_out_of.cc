#include "pipelines/stored/held_out_of.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/status/status_macros.h"
#include "rl/config/workload_traits.h"
#include "rl/episodes/draw_problem.h"
#include "rl/episodes/problem_form.h"
#include "rl/episodes/prompt.h"
#include "rl/evaluation/held_out_tasks.h"
#include "rl/record/completions/completion_record.h"
#include "rl/workloads/completions/data_file.h"
#include "rl/workloads/completions/prepared_completions.h"

namespace reprise {
namespace {

constexpr absl::string_view kFromOtherWeights =
    " started from another run's weights: whether that one was trained on them is unknown";

// How sentences name a training.
struct Words {
  absl::string_view run, given, unknown_file;
};
constexpr Words kOfOwn = {
    .run = "the run that wrote the model",
    .given = "the run",
    .unknown_file =
        "what the run was trained on is unknown here, and may have been these problems: --data FILE names "
        "the file of its training problems, and its run.h5 has all of them"};
constexpr Words kOfEarlier = {
    .run = "an earlier run of the model",
    .given = "an earlier run of the model",
    .unknown_file =
        "what an earlier run of the model was trained on is unknown here, and may have been these "
        "problems: only a file that both runs have read can be compared (data.path, --data)"};

std::string OtherProblems(const Words& words) {
  return absl::StrCat(words.run, " had problems of another kind, with which these cannot be compared");
}

std::string MayHaveUsed(const ModelTask& task, const Words& words, absl::string_view which) {
  const rl::EvaluationConfig& trained = task.config.evaluation;
  const std::string run = absl::StrCat(words.run, " may have been trained on ", which, ": ");
  if (trained.held_out_share == 0) return absl::StrCat(run, "it held out none of the problems that it drew");
  return absl::StrCat(run, "of the problems that it drew, it held out ", trained.held_out_share, " with split_seed ",
                      trained.split_seed);
}

// Counts the tasks that are not on the held-out side of the split of a training that drew its problems.
absl::StatusOr<int64_t> CountMayBeDrawn(const ModelTask& task, const models::Tokenizer& tokenizer,
                                        const EvaluatedTasks& evaluated) {
  const uint64_t seed = static_cast<uint64_t>(task.config.evaluation.split_seed);
  ASSIGN_OR_RETURN(const rl::ProblemForms forms, rl::ProblemForms::Create(task.config, tokenizer));
  return std::count_if(evaluated.tasks.begin(), evaluated.tasks.end(), [&](const rl::TaskRecord& each) {
    const absl::StatusOr<std::string> read =
        rl::PromptAsRead(evaluated.config.rollout, tokenizer, rl::CompletionOf(each).text);
    if (!read.ok()) return true;
    if (forms.IsNeverDrawn(*read)) return false;
    return !rl::IsHeldOut(seed, task.config.evaluation.held_out_share, forms.FormOfRead(*read));
  });
}

// Returns all problems of the training's file, which is identified by its digest, if the evaluation has read it.
std::optional<std::vector<data::Task>> ProblemsOfTraining(const ModelTask& task, const rl::RunParts& parts) {
  const auto trained = std::find_if(task.files.begin(), task.files.end(),
                                    [](const ExternalFile& file) { return file.name == rl::kProblemsName; });
  if (trained == task.files.end()) return std::nullopt;
  const rl::PreparedCompletions& read = rl::GetPreparedCompletions(parts);
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
                                    const std::vector<data::Task>& problems, const EvaluatedTasks& evaluated) {
  ASSIGN_OR_RETURN(const rl::Split split, rl::SplitProblems(task.config, tokenizer, problems));
  std::set<std::string> prompts;
  for (const int64_t i : split.training) prompts.insert(problems[i].prompt);
  return rl::CountTrainedOn(task.config, tokenizer, {prompts, task.config.rollout}, evaluated.tasks,
                            evaluated.config.rollout);
}

bool DrawsTexts(const rl::Config& config) { return rl::Traits(config).has_texts; }

// Compares tasks with the training, one by one.
absl::StatusOr<std::string> WhyNotOfTasks(const ModelTask& task, const Words& words, const EvaluatedTasks& evaluated) {
  const models::Tokenizer& tokenizer = *rl::GetPreparedCompletions(evaluated.parts).tokenizer;
  if (!DrawsTexts(task.config)) return OtherProblems(words);
  if (task.config.data.path.empty()) {
    ASSIGN_OR_RETURN(const int64_t count, CountMayBeDrawn(task, tokenizer, evaluated));
    return count == 0 ? "" : MayHaveUsed(task, words, absl::StrCat(count, " of them"));
  }
  const std::optional<std::vector<data::Task>> problems = ProblemsOfTraining(task, evaluated.parts);
  if (!problems) return std::string(words.unknown_file);
  ASSIGN_OR_RETURN(const int64_t count, CountInFile(task, tokenizer, *problems, evaluated));
  if (count == 0) return "";
  return absl::StrCat("the prompts of ", count, " of them are among those that ", words.given,
                      " was given to train on");
}

// The same for the tasks that a configuration draws: "" only where the training drew from the same task and held out
// at least the same share.
std::string WhyNotOfDraws(const ModelTask& task, const Words& words, const rl::Config& config) {
  const rl::Config& trained = task.config;
  const bool draws_texts = DrawsTexts(trained) && trained.data.path.empty() && trained.environment.name.empty();
  const bool reads_whole = trained.rollout.max_prompt_length == 0;  // others have other forms
  if (!draws_texts || !reads_whole || trained.data.task != config.data.task) return OtherProblems(words);
  const absl::Status split = CheckSplit(trained, config.evaluation);
  return split.ok() ? "" : MayHaveUsed(task, words, "some of them");
}

absl::StatusOr<std::string> WhyNot(const ModelTask& task, const Words& words, const EvaluatedTasks& evaluated) {
  if (TrainsNothing(task.config)) return "";
  if (rl::Traits(evaluated.config).has_completions) return WhyNotOfTasks(task, words, evaluated);
  return WhyNotOfDraws(task, words, evaluated.config);
}

// Whether a file of held-out problems has some of data.path.
bool TrainsOnEvaluated(const rl::Config& config, const rl::RunParts& parts) {
  if (config.evaluation.path.empty() || !rl::Traits(config).has_completions) return false;
  std::set<std::string> prompts;
  for (const data::Task& problem : rl::GetPreparedCompletions(parts).problems) prompts.insert(problem.prompt);
  return parts.workload->CountHeldOut(config, prompts, config.rollout).known > 0;
}

}  // namespace

bool TrainsNothing(const rl::Config& config) { return config.run.steps == 0 && config.sft.steps == 0; }

absl::Status CheckSplit(const rl::Config& config, const rl::EvaluationConfig& evaluation) {
  if (evaluation.held_out_share == 0 || TrainsNothing(config)) return absl::OkStatus();
  const rl::EvaluationConfig& trained = config.evaluation;
  if (evaluation.held_out_share > trained.held_out_share || evaluation.split_seed != trained.split_seed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "evaluation.held_out_share ", evaluation.held_out_share, " with split_seed ", evaluation.split_seed,
        ": the run held out ", trained.held_out_share, " with split_seed ", trained.split_seed,
        ", so it was trained on some of these problems: use the run's own share, a smaller one, or --held-out FILE"));
  }
  return absl::OkStatus();
}

bool BeganWithOtherWeights(const std::vector<ExternalFile>& files) {
  return std::any_of(files.begin(), files.end(),
                     [](const ExternalFile& file) { return file.name == rl::kInitialWeightsName; });
}

std::string WhyOtherWeights() { return absl::StrCat("the run", kFromOtherWeights); }

absl::StatusOr<std::string> WhyNotHeldOut(const ModelTask& task, const EvaluatedTasks& evaluated) {
  return WhyNot(task, kOfOwn, evaluated);
}

absl::StatusOr<std::string> WhyNotHeldOutBefore(const std::vector<ModelTask>& earlier,
                                                const EvaluatedTasks& evaluated) {
  for (const ModelTask& task : earlier) {
    if (BeganWithOtherWeights(task.files)) return absl::StrCat(kOfEarlier.run, kFromOtherWeights);
    ASSIGN_OR_RETURN(std::string why, WhyNot(task, kOfEarlier, evaluated));
    if (!why.empty()) return why;
  }
  return "";
}

absl::StatusOr<BaseModel> JudgeBaseModel(const rl::Config& config, rl::RunParts* parts) {
  BaseModel base;
  const std::string& path = config.model.path;
  ASSIGN_OR_RETURN(base.trainings, ReadTrainings(PosixFileSystem(), path, parts->external_files));
  ASSIGN_OR_RETURN(const std::vector<ModelTask> earlier, InterpretTrainings(path, base.trainings));
  if (!rl::Traits(config).holds_out(config)) return base;
  if (TrainsOnEvaluated(config, *parts)) {  // of which a warning has said it
    base.why_not_held_out = "the run itself trains on some of them";
    return base;
  }
  if (earlier.empty()) return base;
  std::vector<rl::TaskRecord> tasks;
  if (rl::Traits(config).has_completions) {
    const rl::PreparedCompletions& completions = rl::GetPreparedCompletions(*parts);
    absl::StatusOr<std::vector<rl::TaskRecord>> selected = rl::HeldOutTasks(
        config, completions.held_out, *completions.tokenizer, completions.model->config().max_position_embeddings);
    if (!selected.ok()) return base;  // there are no evaluations, otherwise they would have been rejected
    tasks = *std::move(selected);
  }
  ASSIGN_OR_RETURN(base.why_not_held_out, WhyNotHeldOutBefore(earlier, {config, *parts, tasks}));
  if (base.why_not_held_out.empty()) return base;
  parts->warnings.push_back(absl::StrCat(
      "model.path: the problems of this run's evaluations are not called held out: ", base.why_not_held_out,
      "; runs that draw from the same task, or read the same file, hold out the same problems with the same "
      "evaluation.held_out_share and evaluation.split_seed"));
  return base;
}

}  // namespace reprise
