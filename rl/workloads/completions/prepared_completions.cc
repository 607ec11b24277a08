#include "rl/workloads/completions/prepared_completions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "models/olmoe/end_tokens.h"
#include "models/olmoe/model_directory.h"
#include "models/olmoe/peft_directory.h"
#include "models/olmoe/special_tokens_map.h"
#include "models/olmoe/weights.h"
#include "rl/config/check.h"
#include "rl/environments/environments.h"
#include "rl/episodes/sources.h"
#include "rl/episodes/task_batch.h"
#include "rl/episodes/turn_rules.h"
#include "rl/evaluation/held_out_tasks.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_streams.h"
#include "rl/reward/reward.h"
#include "rl/workloads/completions/data_file.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/completions/model_weights.h"
#include "rl/workloads/completions/options.h"

namespace reprise::rl {
namespace {

constexpr int64_t kTasksToCheck = 64;

absl::Status CheckTokenizer(const models::Tokenizer& tokenizer, const models::DecoderConfig& decoder) {
  if (tokenizer.vocab_size() > decoder.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("the tokenizer has ", tokenizer.vocab_size(),
                                                   " tokens, but the model's vocab_size is ", decoder.vocab_size));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> FindEndTokens(const Config& config, const models::DecoderConfig& decoder,
                                                   const models::Tokenizer& tokenizer) {
  ASSIGN_OR_RETURN(std::vector<int32_t> tokens, models::EndTokens(config.model.path, decoder, tokenizer));
  if (!tokens.empty()) return tokens;
  return absl::InvalidArgumentError(
      "the model has no end token, without which completions cannot end: set eos_token_id in its config.json or "
      "generation_config.json, or eos_token in its tokenizer_config.json");
}

absl::StatusOr<TurnRules> MakeCheckedTurnRules(const Config& config, const models::DecoderConfig& decoder,
                                               const std::vector<int32_t>& end_tokens) {
  ASSIGN_OR_RETURN(TurnRules rules, MakeTurnRules(config, end_tokens));
  for (const int32_t token : rules.end_tokens) {
    if (token < decoder.vocab_size) continue;
    return absl::InvalidArgumentError(absl::StrCat("rollout.stop_token_ids: ", token, " is not among the model's ",
                                                   decoder.vocab_size, " tokens, which count from 0"));
  }
  return rules;
}

// Checks in advance that the tokenizer can encode the text that the policy may be sent.
absl::Status CheckRefusal(const Config& config, const models::Tokenizer& tokenizer) {
  if (config.environment.max_tool_calls == 0) return absl::OkStatus();
  absl::Status encoded = tokenizer.Encode(config.environment.tool_call_refusal).status();
  if (encoded.ok()) return encoded;
  return absl::InvalidArgumentError(absl::StrCat("environment.tool_call_refusal \"",
                                                 config.environment.tool_call_refusal,
                                                 "\" cannot be encoded by the tokenizer: ", encoded.message()));
}

// Returns whether a reward compares completions with the task's answer.
bool ComparesAnswers(const Config& config) {
  const std::vector<std::string> rewards = absl::StrSplit(config.algorithm.reward.functions, ' ');
  return !HasEnvironment(config) &&
         std::any_of(rewards.begin(), rewards.end(), [](const std::string& reward) { return FindReward(reward).ok(); });
}

// Warns about answers that do not fit into a completion with their end token, if a reward compares completions with
// them.
absl::Status WarnOfAnswers(const Config& config, const std::vector<TaskRecord>& tasks,
                           const models::Tokenizer& tokenizer, std::vector<std::string>* warnings) {
  if (!ComparesAnswers(config)) return absl::OkStatus();
  const int64_t room = config.rollout.max_completion_length;
  int64_t count = 0, most = 0;
  for (const TaskRecord& task : tasks) {
    ASSIGN_OR_RETURN(const std::vector<int32_t> answer, tokenizer.Encode(CompletionOf(task).answer));
    const int64_t needed = static_cast<int64_t>(answer.size()) + 1;
    count += needed > room ? 1 : 0;
    most = std::max(most, needed);
  }
  if (count == 0) return absl::OkStatus();
  warnings->push_back(absl::StrCat(
      "rollout.max_completion_length ", room, " has no room for the answers of ", count, " of ", tasks.size(),
      " tasks with their end token, so no completion can earn their whole reward; ", most, " is enough"));
  return absl::OkStatus();
}

// Checks tasks before the weights are read, which takes longer: all problems of a file, each of which is one of the
// first places of a step's order; of drawn tasks only the first, which show most possible errors.
absl::Status CheckTasks(const Config& config, const std::vector<data::Task>& problems,
                        const models::Tokenizer& tokenizer, int64_t positions, std::vector<std::string>* warnings) {
  const auto check = [&](Phase phase, int64_t prompts) {
    const int64_t looked = problems.empty() ? std::min(prompts, kTasksToCheck) : static_cast<int64_t>(problems.size());
    return DrawTasks(config, problems, tokenizer, positions, phase, 1, 0, looked);
  };
  ASSIGN_OR_RETURN(const std::vector<TaskRecord> tasks, check(Phase::kTraining, config.rollout.prompts_per_step));
  RETURN_IF_ERROR(WarnOfAnswers(config, tasks, tokenizer, warnings));
  if (config.sft.steps == 0) return absl::OkStatus();
  return check(Phase::kSft, config.sft.prompts_per_step).status();
}

// Returns a warning about a term of the loss that comes from the checkpoint and is not in the configuration; empty:
// none.
absl::StatusOr<std::string> BroughtByModel(const ModelConfig& model, const models::DecoderConfig& decoder) {
  constexpr absl::string_view kKey = "router_aux_loss_coef";
  if (model.path.empty() || model.router_aux_loss_coef || decoder.router_aux_loss_coef == 0) return std::string();
  ASSIGN_OR_RETURN(const bool is_said, models::ConfigSays(model.path, kKey));
  const std::string origin = is_said ? absl::StrCat("its config.json sets ", kKey, " ", decoder.router_aux_loss_coef)
                                     : absl::StrCat("its config.json has no ", kKey, ", which is ",
                                                    decoder.router_aux_loss_coef, " then, as in Transformers");
  return absl::StrCat("model.path: ", origin,
                      ", so the routers' load balancing is in the loss; model.router_aux_loss_coef overrides it, and 0 "
                      "leaves it out");
}

// Checks the answers of a file: the policy can never write an answer that the tokenizer cannot encode, and its reward
// would always be 0. An SFT phase checks the answers that it learns itself.
absl::Status CheckAnswers(const Config& config, const std::vector<data::Task>& problems, const std::string& path,
                          const models::Tokenizer& tokenizer) {
  if (!absl::StrContains(config.algorithm.reward.functions, "_match")) return absl::OkStatus();
  for (const data::Task& problem : problems) {
    const std::string name = absl::StrCat("the answer in line ", problem.line, " of ", path);
    RETURN_IF_ERROR(EncodeText(config, tokenizer, problem.answer, name).status());
  }
  return absl::OkStatus();
}

// Checks the problems that a run, or an evaluation alone, will use.
absl::Status CheckProblems(const Config& config, RunUse use, const DataFile& data, const models::Tokenizer& tokenizer,
                           const models::DecoderConfig& decoder, std::vector<std::string>* warnings) {
  const int64_t positions = decoder.max_position_embeddings;
  if (use == RunUse::kTraining) {
    ASSIGN_OR_RETURN(const std::string brought, BroughtByModel(config.model, decoder));
    *warnings = {data.warning, brought, WarningOfTopK(config.rollout, decoder.vocab_size)};
    std::erase(*warnings, "");
    RETURN_IF_ERROR(CheckAnswers(config, data.problems, config.data.path, tokenizer));
  }
  RETURN_IF_ERROR(CheckAnswers(config, data.held_out,
                               config.evaluation.path.empty() ? config.data.path : config.evaluation.path, tokenizer));
  if (use == RunUse::kTraining) RETURN_IF_ERROR(CheckTasks(config, data.problems, tokenizer, positions, warnings));
  const bool has_held_out = config.evaluation.every > 0 || config.evaluation.held_out_share > 0;
  if (use == RunUse::kTraining && !has_held_out) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<TaskRecord> tasks, HeldOutTasks(config, data.held_out, tokenizer, positions));
  if (data.held_out.empty()) {
    ASSIGN_OR_RETURN(const std::string few, WarningOfFewTasks(config, tokenizer, tasks));
    if (!few.empty()) warnings->push_back(few);
  }
  return use == RunUse::kEvaluation ? WarnOfAnswers(config, tasks, tokenizer, warnings) : absl::OkStatus();
}

}  // namespace

absl::Status PrepareCompletions(const Config& config, RunUse use, RunParts* parts) {
  auto prepared = std::make_unique<PreparedCompletions>();
  ASSIGN_OR_RETURN(const models::DecoderConfig decoder, ReadTrainedDecoderConfig(config));
  ASSIGN_OR_RETURN(models::Tokenizer tokenizer, LoadTokenizer(config.model));
  RETURN_IF_ERROR(CheckTokenizer(tokenizer, decoder));
  ASSIGN_OR_RETURN(prepared->end_tokens, FindEndTokens(config, decoder, tokenizer));
  ASSIGN_OR_RETURN(DataFile data, ReadDataFile(config, tokenizer));
  RETURN_IF_ERROR(CheckProblems(config, use, data, tokenizer, decoder, &parts->warnings));
  prepared->process_client = MakeProcessClient(config);
  ASSIGN_OR_RETURN(prepared->environment, MakeEnvironment(config, prepared->process_client));
  ASSIGN_OR_RETURN(const TurnRules rules, MakeCheckedTurnRules(config, decoder, prepared->end_tokens));
  RETURN_IF_ERROR(CheckRefusal(config, tokenizer));
  if (const absl::Status fits = models::RequireMemory(decoder, /*training=*/true); !fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(fits.message(), " ([model], model.path)"));
  }
  prepared->problems = std::move(data.problems);
  prepared->held_out = std::move(data.held_out);
  prepared->tokenizer = std::make_unique<models::Tokenizer>(std::move(tokenizer));
  ASSIGN_OR_RETURN(prepared->chat_template, models::ReadChatTemplate(config.model.path));
  ASSIGN_OR_RETURN(prepared->generation_config, models::ReadGenerationConfig(config.model.path));
  ASSIGN_OR_RETURN(prepared->special_tokens_map, models::ReadSpecialTokensMap(config.model.path));
  prepared->model = models::Model::Create(decoder, /*training=*/true);
  RETURN_IF_ERROR(SetFirstWeights(config, *parts->pool, *prepared->model));
  prepared->config = config;
  ASSIGN_OR_RETURN(parts->external_files, DigestModelFiles(config.model));
  parts->external_files.insert(parts->external_files.end(), data.files.begin(), data.files.end());
  prepared->model->Refresh(*parts->pool);
  prepared->decoder_policy =
      std::make_unique<DecoderPolicy>(*prepared->model, MakeGenerateOptions(config, *prepared->tokenizer, rules));
  parts->workload = std::move(prepared);
  return absl::OkStatus();
}

RecordSchema MakeCompletionSchema(const Config& config) { return CompletionSchema(MakeRecordForm(config)); }

absl::StatusOr<FlatLayout> MakeCompletionLayout(const Config& config) {
  ASSIGN_OR_RETURN(const models::DecoderConfig decoder, ReadTrainedDecoderConfig(config));
  RETURN_IF_ERROR(models::ValidateDecoderConfig(decoder));
  return models::MakeDecoderLayout(decoder);
}

absl::Status ExportCompletions(const Config& config, absl::Span<const float> weights, FileSystem& files,
                               const std::string& directory) {
  ASSIGN_OR_RETURN(const models::DecoderConfig decoder, ReadTrainedDecoderConfig(config));
  ASSIGN_OR_RETURN(const models::Tokenizer tokenizer, LoadTokenizer(config.model));
  ASSIGN_OR_RETURN(const std::string chat_template, models::ReadChatTemplate(config.model.path));
  ASSIGN_OR_RETURN(const std::string generation_config, models::ReadGenerationConfig(config.model.path));
  ASSIGN_OR_RETURN(const std::string special_tokens_map, models::ReadSpecialTokensMap(config.model.path));
  return ExportLanguageModel(
      config, decoder, weights,
      {tokenizer.json(), tokenizer.config_json(), chat_template, generation_config, special_tokens_map}, files,
      directory);
}

PreparedCompletions& GetPreparedCompletions(const RunParts& parts) {
  auto* const completions = dynamic_cast<PreparedCompletions*>(parts.workload.get());
  CHECK(completions != nullptr);
  return *completions;
}

absl::StatusOr<CompletionsDeps> PreparedCompletions::MakeDeps(const WorkloadRun& run) const {
  const Config& config = run.config;
  const models::DecoderConfig& decoder = model->config();
  const RecordForm form = MakeRecordForm(config);
  ASSIGN_OR_RETURN(RewardOptions rewards, MakeRewardOptions(config, end_tokens));
  ASSIGN_OR_RETURN(TurnDeps turns, MakeTurnDeps(config, environment.get(), process(), end_tokens));
  TurnDeps evaluation_turns = turns;
  evaluation_turns.purpose = Purpose::kEvaluationTask;
  std::unique_ptr<EpisodeSource> source;
  if (run.records == nullptr || run.continues_live) {
    source = std::make_unique<LiveSource>(*model, *tokenizer, MakeGenerateOptions(config, *tokenizer, turns.rules),
                                          run.pool, turns);
  }
  if (run.records != nullptr) {
    source = std::make_unique<ReplaySource>(*run.records, form, decoder, config.rollout.num_generations, *tokenizer,
                                            turns, std::move(source));
  }
  return CompletionsDeps{.config = config,
                         .policy = *decoder_policy,
                         .model = *model,
                         .tokenizer = *tokenizer,
                         .problems = problems,
                         .held_out = held_out,
                         .comm = run.comm,
                         .pool = run.pool,
                         .form = form,
                         .rewards = std::move(rewards),
                         .turns = std::move(turns),
                         .evaluation_turns = std::move(evaluation_turns),
                         .source = std::move(source)};
}

absl::StatusOr<std::unique_ptr<Workload>> PreparedCompletions::Start(const WorkloadRun& run) {
  ASSIGN_OR_RETURN(CompletionsDeps parts, MakeDeps(run));
  return CompletionsWorkload::Create(std::move(parts));
}

HeldOutCount PreparedCompletions::CountHeldOut(const Config& config, const std::set<std::string>& prompts,
                                               const RolloutConfig& trained) const {
  const absl::StatusOr<std::vector<TaskRecord>> tasks =
      HeldOutTasks(config, held_out, *tokenizer, model->config().max_position_embeddings);
  if (!tasks.ok()) return {};  // there are no evaluations, otherwise they would have been rejected
  const absl::StatusOr<int64_t> known = CountTrainedOn(config, *tokenizer, {prompts, trained}, *tasks, config.rollout);
  CHECK(known.ok());  // the tasks were drawn with the same names
  return {static_cast<int64_t>(tasks->size()), *known};
}

absl::Status PreparedCompletions::Export(FileSystem& files, const std::string& directory) const {
  return ExportLanguageModel(
      config, model->config(), model->parameters(),
      {tokenizer->json(), tokenizer->config_json(), chat_template, generation_config, special_tokens_map}, files,
      directory);
}

absl::Status PreparedCompletions::TakeAdapters(const std::string& directory) {
  if (!model->config().lora.is_on()) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, " has adapters, but this run trains none: set lora.r"));
  }
  return models::LoadAdapters(directory, model->config(), model->mutable_parameters());
}

}  // namespace reprise::rl
