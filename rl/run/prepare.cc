#include "rl/run/prepare.h"

#include <algorithm>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/olmoe/weights.h"
#include "rl/environment/environments.h"
#include "rl/environment/turn_rules.h"
#include "rl/evaluation/held_out_tasks.h"
#include "rl/learner/task_batch.h"

namespace reprise::rl {
namespace {

constexpr int64_t kTasksToCheck = 64;

absl::Status CheckTokenizer(const models::Tokenizer& tokenizer, const models::DecoderConfig& decoder) {
  if (tokenizer.vocab_size() > decoder.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("the tokenizer has ", tokenizer.vocab_size(),
                                                   " tokens, but the model's vocab_size is ", decoder.vocab_size));
  }
  if (decoder.eos_token_id.empty()) {
    return absl::InvalidArgumentError("the model names no eos_token_id: completions could not end");
  }
  return absl::OkStatus();
}

absl::Status CheckStops(const Config& config, const models::DecoderConfig& decoder) {
  ASSIGN_OR_RETURN(const TurnRules rules, TurnRulesOf(config, decoder.eos_token_id));
  for (const int32_t token : rules.end_tokens) {
    if (token < decoder.vocab_size) continue;
    return absl::InvalidArgumentError(absl::StrCat("rollout.stop_token_ids: ", token, " is none of the model's ",
                                                   decoder.vocab_size, " tokens, which count from 0"));
  }
  return absl::OkStatus();
}

// What the policy may be told must be sayable, before it has to be said.
absl::Status CheckRefusal(const Config& config, const models::Tokenizer& tokenizer) {
  if (config.environment.max_tool_calls == 0) return absl::OkStatus();
  const absl::Status encoded = tokenizer.Encode(config.environment.tool_call_refusal).status();
  if (encoded.ok()) return encoded;
  return absl::InvalidArgumentError(absl::StrCat("environment.tool_call_refusal \"",
                                                 config.environment.tool_call_refusal,
                                                 "\" is nothing that the tokenizer can say: ", encoded.message()));
}

// Before the weights are read, which takes longer: all problems of a file, of which the first places of a step's order
// are each one; of drawn tasks the first, which show most of what could be wrong with any.
absl::Status CheckTasks(const Config& config, const std::vector<data::Task>& problems,
                        const models::Tokenizer& tokenizer, int64_t positions) {
  const auto check = [&](Phase phase, int64_t prompts) {
    const int64_t looked = problems.empty() ? std::min(prompts, kTasksToCheck) : static_cast<int64_t>(problems.size());
    return DrawTasks(config, problems, tokenizer, positions, phase, 1, 0, looked).status();
  };
  RETURN_IF_ERROR(check(Phase::kTraining, config.rollout.prompts_per_step));
  return config.warm_up.steps == 0 ? absl::OkStatus() : check(Phase::kWarmUp, config.warm_up.prompts_per_step);
}

// Of a file: one that the policy cannot say is never given, and the reward would be 0 for ever. A warm-up looks at
// those of its own.
absl::Status CheckAnswers(const Config& config, const std::vector<data::Task>& problems, const std::string& path,
                          const models::Tokenizer& tokenizer) {
  if (!absl::StrContains(config.algorithm.reward, "_match")) return absl::OkStatus();
  for (const data::Task& problem : problems) {
    const std::string name = absl::StrCat("the answer in line ", problem.line, " of ", path);
    RETURN_IF_ERROR(EncodeText(config, tokenizer, problem.answer, name).status());
  }
  return absl::OkStatus();
}

absl::Status SetFirstWeights(const Config& config, models::Model& model) {
  if (!config.model.path.empty()) {
    const models::ParameterLayout policy = models::PolicyPart(model.layout());
    RETURN_IF_ERROR(models::LoadWeights(config.model.path, policy,
                                        model.mutable_parameters().first(static_cast<size_t>(policy.total))));
    models::InitializeParameters(model.config(), model.layout(), static_cast<uint64_t>(config.run.seed),
                                 model.mutable_parameters(), policy.policy_specs);
    return absl::OkStatus();
  }
  models::InitializeParameters(model.config(), model.layout(), static_cast<uint64_t>(config.run.seed),
                               model.mutable_parameters());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunParts> PrepareRun(const Config& config, ThreadPool& pool) {
  ASSIGN_OR_RETURN(const models::DecoderConfig decoder, TrainedDecoderOf(config));
  ASSIGN_OR_RETURN(models::Tokenizer tokenizer, TokenizerOf(config.model));
  RETURN_IF_ERROR(CheckTokenizer(tokenizer, decoder));
  ASSIGN_OR_RETURN(DataFile data, ReadDataFile(config));
  RETURN_IF_ERROR(CheckTasks(config, data.problems, tokenizer, decoder.max_position_embeddings));
  RETURN_IF_ERROR(CheckAnswers(config, data.problems, config.data.path, tokenizer));
  RETURN_IF_ERROR(CheckAnswers(config, data.held_out,
                               config.evaluation.path.empty() ? config.data.path : config.evaluation.path, tokenizer));
  if (config.evaluation.every > 0) {
    RETURN_IF_ERROR(HeldOutTasks(config, data.held_out, tokenizer, decoder.max_position_embeddings).status());
  }
  RunParts parts;
  parts.process = MakeProcessClient(config);
  ASSIGN_OR_RETURN(parts.environment, MakeEnvironment(config, parts.process));
  RETURN_IF_ERROR(CheckStops(config, decoder));
  RETURN_IF_ERROR(CheckRefusal(config, tokenizer));
  parts.problems = std::move(data.problems);
  parts.held_out = std::move(data.held_out);
  parts.tokenizer = std::make_unique<models::Tokenizer>(std::move(tokenizer));
  parts.model = models::Model::Create(decoder, /*training=*/true);
  RETURN_IF_ERROR(SetFirstWeights(config, *parts.model));
  ASSIGN_OR_RETURN(parts.external_files, DigestModelFiles(config.model));
  parts.external_files.insert(parts.external_files.end(), data.files.begin(), data.files.end());
  parts.model->Refresh(pool);
  return parts;
}

std::vector<std::string> TensorNamesOf(const RunParts& parts) {
  std::vector<std::string> names;
  for (const models::ParameterSpec& spec : parts.model->layout().specs) names.push_back(spec.name);
  return names;
}

int ThreadsOf(const ExecutionConfig& execution, int ranks_on_this_machine) {
  if (execution.threads > 0) return static_cast<int>(execution.threads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks_on_this_machine);
}

Config WithoutPaths(Config config) {
  if (!config.model.path.empty()) config.model.path = "external";
  if (!config.data.path.empty()) config.data.path = "external";
  if (!config.evaluation.path.empty()) config.evaluation.path = "external";
  return config;
}

}  // namespace reprise::rl
