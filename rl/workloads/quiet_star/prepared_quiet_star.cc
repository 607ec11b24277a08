#include "rl/workloads/quiet_star/prepared_quiet_star.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/decoder/parameters.h"
#include "models/olmoe/peft_directory.h"
#include "models/olmoe/weights.h"
#include "models/quiet_star/thinking_tokens.h"
#include "models/quiet_star/thought_model.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/check.h"
#include "rl/config/quiet_star_check.h"
#include "rl/config/workload_traits.h"
#include "rl/policy/thoughts/thought_policy.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/quiet_star/quiet_star_workload.h"
#include "rl/workloads/quiet_star/thinker_weights.h"
#include "rl/workloads/quiet_star/thought_record.h"
#include "rl/workloads/quiet_star/thought_texts.h"

namespace reprise::rl {
namespace {

// Returns the token of quiet_star.delimiters_like; -1 where it is empty.
absl::StatusOr<int32_t> LikeToken(const Config& config, const models::Tokenizer& tokenizer, int64_t vocabulary) {
  const std::string& text = config.quiet_star.delimiters_like;
  if (text.empty()) return -1;
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, tokenizer.Encode(text));
  if (tokens.size() == 1 && tokens[0] < vocabulary) return tokens[0];
  return absl::InvalidArgumentError(absl::StrCat("quiet_star.delimiters_like \"", text, "\" is ", tokens.size(),
                                                 " tokens of the model's vocabulary: write a text that is one"));
}

ThoughtPolicyOptions MakePolicyOptions(const Config& config, const models::DecoderConfig& grown) {
  const QuietStarConfig& quiet_star = config.quiet_star;
  ThoughtPolicyOptions options;
  options.tokens_ahead = quiet_star.tokens_ahead;
  options.base_nll_coef = quiet_star.base_weight;
  options.mixed_nll_coef = quiet_star.talk_weight;
  options.delimiter_gradient_weight = static_cast<float>(quiet_star.delimiter_gradient_weight);
  options.divergence_from_reference = quiet_star.kl_direction == KlDirection::kCopyFromPolicy;
  options.dispersion = quiet_star.positions == ThoughtPositions::kDifficult && quiet_star.attention_dispersion;
  models::ThoughtSampling& sampling = options.sampling;
  sampling.num_thoughts = config.rollout.num_generations;
  sampling.min_length = quiet_star.min_thought_length;
  sampling.max_length = quiet_star.max_thought_length;
  sampling.delimiters = models::DelimitersOf(grown);
  sampling.sampling = {.temperature = static_cast<float>(config.rollout.temperature),
                       .top_k = config.rollout.top_k,
                       .top_p = static_cast<float>(config.rollout.top_p)};
  sampling.seed = static_cast<uint64_t>(config.run.seed);
  return options;
}

class PreparedQuietStar : public PreparedWorkload {
 public:
  PreparedQuietStar(const Config& config, const Thinker& thinker, std::unique_ptr<models::ThoughtModel> model,
                    models::Tokenizer tokenizer)
      : config_(config),
        thinker_(thinker),
        tokenizer_(std::move(tokenizer)),
        policy_(std::move(model), MakePolicyOptions(config, thinker.grown)) {}

  Policy& policy() const override { return policy_; }
  absl::StatusOr<std::unique_ptr<Workload>> Start(const WorkloadRun& run) override {
    ASSIGN_OR_RETURN(ThoughtTexts texts, ThoughtTexts::Create(run.config, tokenizer_, thinker_.grown));
    return std::make_unique<QuietStarWorkload>(run, policy_, std::move(texts), EarnsByTurn(run.config));
  }
  absl::Status Export(FileSystem& files, const std::string& directory) const override {
    return ExportThinker(config_, thinker_, policy_.parameters(), {tokenizer_.json(), tokenizer_.config_json()}, files,
                         directory);
  }
  absl::Status TakeAdapters(const std::string& directory) override {
    models::DecoderConfig adapters = thinker_.grown;
    if (!adapters.lora.is_on()) {
      return absl::FailedPreconditionError(
          absl::StrCat(directory, " has adapters, but this run trains none: set lora.r"));
    }
    adapters.new_rows = 0;  // such a directory has none
    return models::LoadAdapters(directory, adapters, policy_.mutable_parameters());
  }

 private:
  const Config config_;  // of the preparation
  const Thinker thinker_;
  const models::Tokenizer tokenizer_;
  mutable ThoughtPolicy policy_;
};

}  // namespace

absl::Status PrepareQuietStar(const Config& config, RunUse, RunParts* parts) {
  ASSIGN_OR_RETURN(const Thinker thinker, ReadThinker(config));
  ASSIGN_OR_RETURN(models::Tokenizer tokenizer, LoadTokenizer(config.model));
  const int64_t vocabulary = thinker.grown.vocab_size - static_cast<int64_t>(models::kThinkingTokens.size());
  if (tokenizer.vocab_size() > vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat("the tokenizer has ", tokenizer.vocab_size(),
                                                   " tokens, but the model's vocab_size is ", vocabulary));
  }
  RETURN_IF_ERROR(CheckPositions(config, thinker.grown.max_position_embeddings));
  ASSIGN_OR_RETURN(const ThoughtTexts texts, ThoughtTexts::Create(config, tokenizer, thinker.grown));
  for (const std::string& warning : {texts.WarningOfEvaluations(), WarningOfTopK(config.rollout, vocabulary)}) {
    if (!warning.empty()) parts->warnings.push_back(warning);
  }
  if (const absl::Status fits = models::RequireMemory(thinker.grown, /*training=*/true); !fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(fits.message(), " ([model], model.path)"));
  }
  ASSIGN_OR_RETURN(const int32_t like_token, LikeToken(config, tokenizer, vocabulary));
  ASSIGN_OR_RETURN(std::unique_ptr<models::ThoughtModel> model,
                   models::ThoughtModel::Create(thinker.grown, thinker.heads, /*training=*/true));
  RETURN_IF_ERROR(SetFirstWeights(config, like_token, *parts->pool, model.get()));
  ASSIGN_OR_RETURN(std::vector<ExternalFile> files, DigestModelFiles(config.model));
  parts->external_files.insert(parts->external_files.end(), files.begin(), files.end());
  model->Refresh(*parts->pool);
  parts->workload = std::make_unique<PreparedQuietStar>(config, thinker, std::move(model), std::move(tokenizer));
  return absl::OkStatus();
}

absl::StatusOr<FlatLayout> MakeQuietStarLayout(const Config& config) {
  ASSIGN_OR_RETURN(const Thinker thinker, ReadThinker(config));
  RETURN_IF_ERROR(models::ValidateDecoderConfig(thinker.grown));
  models::DecoderLayout layout = models::MakeDecoderLayout(thinker.grown);
  const models::ThoughtHeads heads(thinker.grown.hidden_size, thinker.heads, &layout);
  return layout;
}

absl::Status ExportQuietStar(const Config& config, absl::Span<const float> weights, FileSystem& files,
                             const std::string& directory) {
  ASSIGN_OR_RETURN(const Thinker thinker, ReadThinker(config));
  ASSIGN_OR_RETURN(const models::Tokenizer tokenizer, LoadTokenizer(config.model));
  return ExportThinker(config, thinker, weights, {tokenizer.json(), tokenizer.config_json()}, files, directory);
}

RecordSchema MakeQuietStarSchema(const Config& config) {
  // The size of another model's vocabulary is in its files, which a reader of the record need not have.
  const bool is_known = config.model.path.empty();
  const int64_t thinking = static_cast<int64_t>(models::kThinkingTokens.size());
  return ThoughtSchema({config, is_known ? config.model.vocab_size + thinking : 0});
}

}  // namespace reprise::rl
