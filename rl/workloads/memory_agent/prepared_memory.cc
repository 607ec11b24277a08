#include "rl/workloads/memory_agent/prepared_memory.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/memory/operation.h"
#include "models/olmoe/peft_directory.h"
#include "models/olmoe/weights.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/algorithm/algorithm.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/config/workload_traits.h"
#include "rl/policy/encoder/encoder_policy.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/memory_agent/behaviour.h"
#include "rl/workloads/memory_agent/facts_world.h"
#include "rl/workloads/memory_agent/memory_record.h"
#include "rl/workloads/memory_agent/memory_workload.h"
#include "rl/workloads/memory_agent/policy_weights.h"
#include "rl/workloads/memory_agent/section/memory_section.h"
#include "rl/workloads/memory_agent/state_text.h"

namespace reprise::rl {
namespace {

absl::StatusOr<std::unique_ptr<EncoderPolicy>> NewPolicy(const Config& config) {
  ASSIGN_OR_RETURN(const models::DecoderConfig encoder, ReadTrainedEncoderConfig(config));
  const AlgorithmConfig& algorithm = config.algorithm;
  if (const absl::Status fits = models::RequireEncoderMemory(encoder, /*training=*/true); !fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(fits.message(), " ([model], model.path)"));
  }
  EncoderShape shape = kMemoryShape;
  shape.has_values = NeedsValues(algorithm);
  return EncoderPolicy::Create(encoder, shape, static_cast<float>(config.rollout.temperature),
                               static_cast<uint64_t>(config.run.seed));
}

// Returns the states of facts, those of the last turn, with each plan or message.
std::vector<std::string> FactsStates() {
  const auto state = [](size_t plan, const FactMessage& message) {
    AgentState pairs = {{"operation", "pending"},
                        {"step", kFactsLengths.most - 1},
                        {"total_steps", kFactsLengths.most},
                        {"plan", std::string(kPlans[plan])}};
    FactsWorld::Describe(message, /*is_known=*/false, /*stored=*/0, &pairs);
    return StateText(pairs);
  };
  using Kind = FactMessage::Kind;
  std::vector<std::string> states;
  for (size_t plan = 0; plan < std::size(kPlans); ++plan) states.push_back(state(plan, {Kind::kTalk, 0}));
  for (int32_t thing = 0; thing < static_cast<int32_t>(std::size(kThings)); ++thing) {
    for (const Kind kind : {Kind::kGone, Kind::kTalk, Kind::kQuestion}) states.push_back(state(0, {kind, thing}));
    for (int32_t place = 0; place < static_cast<int32_t>(std::size(kPlaces)); ++place) {
      states.push_back(state(0, {Kind::kPlace, thing, place}));
    }
  }
  return states;
}

// Returns states with all texts and numbers that those of a run have, among them the longest.
std::vector<std::string> PossibleStates(const MemoryConfig& memory) {
  std::vector<std::string> states = {StateText({{"operation", "pending"}, {"context", "training"}})};
  if (HasFacts(memory)) {
    for (std::string& state : FactsStates()) states.push_back(std::move(state));
    return states;
  }
  const auto [least, most] = kLengthsOfStage[kMemoryStages - 1];
  for (const absl::string_view plan : kPlans) {
    for (int64_t total = least; total <= most; ++total) {
      for (int64_t step = 0; step < total; ++step) {
        for (const absl::string_view operation : data::kMemoryOperationNames) {
          states.push_back(
              StateText({{"operation", "pending"},
                         {"step", step},
                         {"total_steps", total},
                         {"plan", std::string(plan)},
                         {"history", std::vector<std::string>(static_cast<size_t>(step), std::string(operation))}}));
        }
      }
    }
  }
  return states;
}

// Checks that the encoder can read every state, and warns if it reads only a part.
absl::Status CheckStates(const MemoryConfig& memory, const models::Tokenizer& tokenizer,
                         const models::DecoderConfig& encoder, std::vector<std::string>* warnings) {
  if (tokenizer.vocab_size() > encoder.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("the tokenizer has ", tokenizer.vocab_size(),
                                                   " tokens, but the model's vocab_size is ", encoder.vocab_size));
  }
  int64_t most = 0;
  for (const std::string& state : PossibleStates(memory)) {
    const absl::StatusOr<std::vector<int32_t>> tokens =
        TokensOfState(tokenizer, std::numeric_limits<int32_t>::max(), state);
    if (!tokens.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          tokens.status().message(),
          ": use a tokenizer (model.path, or model.words and model.vocab_size) that can write every state"));
    }
    most = std::max(most, static_cast<int64_t>(tokens->size()));
  }
  if (most > encoder.max_position_embeddings) {
    warnings->push_back(absl::StrCat("states have up to ", most, " tokens, and the model has only ",
                                     encoder.max_position_embeddings,
                                     " positions (model.max_position_embeddings): longer states are cut off at their "
                                     "end, so that the policy does not know ",
                                     HasFacts(memory) ? "what is stored" : "the latest operations"));
  }
  return absl::OkStatus();
}

// Operations that are not drawn from the policy, and are learned as if they were, bias the gradient.
void WarnOfExploration(const Config& config, const AlgorithmConfig& algorithm, std::vector<std::string>* warnings) {
  if (algorithm.correction.mode != ImportanceMode::kNone) return;
  for (int stage = 1; stage <= kMemoryStages; ++stage) {
    if (!HasMemoryStage(config.memory, stage) || StageBehaviour(config.memory, stage) == MemoryBehaviour::kPolicy)
      continue;
    warnings->push_back(absl::StrCat(
        "memory.stage", stage,
        "_behaviour draws operations that the policy would not, and algorithm.importance_"
        "correction none learns them as if they were the policy's: set it to token_truncate, or the behaviour to "
        "policy"));
  }
}

class PreparedMemory : public PreparedWorkload {
 public:
  PreparedMemory(const Config& config, std::unique_ptr<EncoderPolicy> policy, models::Tokenizer tokenizer)
      : config_(config), policy_(std::move(policy)), tokenizer_(std::move(tokenizer)) {}

  Policy& policy() const override { return *policy_; }
  absl::StatusOr<std::unique_ptr<Workload>> Start(const WorkloadRun& run) override {
    return std::make_unique<MemoryWorkload>(run, *policy_, tokenizer_, EarnsByTurn(run.config));
  }
  absl::Status Export(FileSystem& files, const std::string& directory) const override {
    return ExportPolicy(config_, policy_->encoder(), policy_->parameters(),
                        {tokenizer_.json(), tokenizer_.config_json()}, files, directory);
  }
  absl::Status TakeAdapters(const std::string& directory) override {
    if (!policy_->encoder().lora.is_on()) {
      return absl::FailedPreconditionError(
          absl::StrCat(directory, " has adapters, but this run trains none: set lora.r"));
    }
    return models::LoadAdapters(directory, policy_->encoder(), policy_->mutable_parameters());
  }

 private:
  const Config config_;  // of the preparation
  const std::unique_ptr<EncoderPolicy> policy_;
  const models::Tokenizer tokenizer_;
};

}  // namespace

absl::Status PrepareMemory(const Config& config, RunUse, RunParts* parts) {
  ASSIGN_OR_RETURN(std::unique_ptr<EncoderPolicy> policy, NewPolicy(config));
  ASSIGN_OR_RETURN(models::Tokenizer tokenizer, LoadTokenizer(config.model));
  RETURN_IF_ERROR(CheckStates(config.memory, tokenizer, policy->encoder(), &parts->warnings));
  const AlgorithmConfig& algorithm = config.algorithm;
  WarnOfExploration(config, algorithm, &parts->warnings);
  RETURN_IF_ERROR(SetFirstPolicyWeights(config, *parts->pool, policy.get()));
  ASSIGN_OR_RETURN(std::vector<ExternalFile> files, DigestModelFiles(config.model));
  parts->external_files.insert(parts->external_files.end(), files.begin(), files.end());
  policy->Refresh(*parts->pool);
  parts->workload = std::make_unique<PreparedMemory>(config, std::move(policy), std::move(tokenizer));
  return absl::OkStatus();
}

absl::StatusOr<FlatLayout> MakeMemoryLayout(const Config& config) {
  ASSIGN_OR_RETURN(const models::DecoderConfig encoder, ReadTrainedEncoderConfig(config));
  RETURN_IF_ERROR(models::ValidateDecoderConfig(encoder));
  const AlgorithmConfig& algorithm = config.algorithm;
  return MakePolicyLayout(encoder, NeedsValues(algorithm));
}

absl::Status ExportMemory(const Config& config, absl::Span<const float> weights, FileSystem& files,
                          const std::string& directory) {
  ASSIGN_OR_RETURN(const models::DecoderConfig encoder, ReadTrainedEncoderConfig(config));
  ASSIGN_OR_RETURN(const models::Tokenizer tokenizer, LoadTokenizer(config.model));
  return ExportPolicy(config, encoder, weights, {tokenizer.json(), tokenizer.config_json()}, files, directory);
}

RecordSchema MakeMemorySchema(const Config& config) { return MemorySchema(config); }

}  // namespace reprise::rl
