#include "rl/quiet_star/thought_texts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/jsonl/shuffled_index.h"
#include "models/quiet_star/thinking_tokens.h"
#include "rl/quiet_star/baking.h"

namespace reprise::rl {
namespace {

constexpr int64_t kPromptsOfStep = int64_t{1} << 24;  // that a draw can name

// Every character that generated problems can have.
std::string Characters(const DataConfig& data) {
  std::string characters = data.task == "lookup" ? ",;=" : data.task == "addition" ? "+=" : "=";
  if (data.task == "lookup" || data.task == "addition") characters += "0123456789";
  for (int64_t i = 0; data.task != "addition" && i < data.alphabet_size; ++i) {
    characters.push_back(static_cast<char>('a' + i));
  }
  return characters;
}

}  // namespace

ThoughtTexts::ThoughtTexts(const Config& config, const models::Tokenizer& tokenizer, const models::DecoderConfig& grown,
                           const data::TaskOptions& options)
    : config_(config),
      tokenizer_(&tokenizer),
      options_(options),
      first_thinking_token_(grown.vocab_size - static_cast<int64_t>(models::kThinkingTokens.size())),
      thinking_tokens_(models::ThinkingTokenIds(grown)) {}

absl::StatusOr<ThoughtTexts> ThoughtTexts::Create(const Config& config, const models::Tokenizer& tokenizer,
                                                  const models::DecoderConfig& grown) {
  data::TaskOptions options = {.min_length = config.data.min_length,
                               .max_length = config.data.max_length,
                               .alphabet_size = config.data.alphabet_size};
  ASSIGN_OR_RETURN(options.kind, data::ParseTaskKind(config.data.task));
  RETURN_IF_ERROR(data::ValidateTaskOptions(options));
  ThoughtTexts texts(config, tokenizer, grown, options);
  for (const char character : Characters(config.data)) {
    const absl::StatusOr<std::vector<int32_t>> tokens = tokenizer.Encode(std::string(1, character));
    if (tokens.ok() && !tokens->empty() &&
        std::all_of(tokens->begin(), tokens->end(), [&](int32_t id) { return id < texts.first_thinking_token_; })) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat("the tokenizer has no token within the model's vocabulary for \"",
                                                   std::string(1, character), "\", which texts of data.task ",
                                                   config.data.task, " contain: use another model or vocabulary"));
  }
  return texts;
}

std::vector<int32_t> ThoughtTexts::Encoded(const std::string& text) const {
  absl::StatusOr<std::vector<int32_t>> tokens = tokenizer_->Encode(text);
  CHECK(tokens.ok());  // Create has encoded every character
  return *std::move(tokens);
}

ThoughtText ThoughtTexts::TextOf(const data::Task& task, absl::Span<const int32_t> thought) const {
  ThoughtText text;
  text.token_S = Encoded(task.prompt);
  const size_t behind_question = text.token_S.size();
  if (!thought.empty()) {
    text.token_S.push_back(thinking_tokens_[0]);
    text.token_S.insert(text.token_S.end(), thought.begin(), thought.end());
    text.token_S.push_back(thinking_tokens_[1]);
  }
  text.answer_begin = static_cast<int64_t>(text.token_S.size());
  const std::vector<int32_t> answer = Encoded(task.answer);
  text.token_S.insert(text.token_S.end(), answer.begin(), answer.end());
  text.counts_S.assign(text.token_S.size(), 1);
  const size_t first = config_.quiet_star.counted == "answer" ? behind_question : 1;
  std::fill_n(text.counts_S.begin(), first, uint8_t{0});
  // Where and how long the model thinks is not its own choice, which it could learn.
  if (!thought.empty()) {
    text.counts_S[behind_question] = 0;
    text.counts_S[static_cast<size_t>(text.answer_begin) - 1] = 0;
  }
  return text;
}

ThoughtText ThoughtTexts::Example(int64_t example) const {
  const uint64_t seed = static_cast<uint64_t>(config_.run.seed);
  const uint64_t step = static_cast<uint64_t>(example / kPromptsOfStep),
                 prompt = static_cast<uint64_t>(example % kPromptsOfStep);
  const data::Task task = data::MakeTask(options_, seed, Purpose::kWarmUpTask, step, prompt);
  const double uniform = DrawUniform(seed, Purpose::kBaking, {.step = step, .prompt = prompt});
  if (uniform < config_.quiet_star.plain_share) return TextOf(task, {});
  return TextOf(task, BakedThought(StrategyOf(example), Encoded(task.hint), thinking_tokens_));
}

ThoughtText ThoughtTexts::At(Phase phase, int64_t step, int64_t prompt) const {
  const uint64_t seed = static_cast<uint64_t>(config_.run.seed);
  if (phase == Phase::kTraining) {
    return TextOf(
        data::MakeTask(options_, seed, Purpose::kTask, static_cast<uint64_t>(step), static_cast<uint64_t>(prompt)), {});
  }
  const int64_t place = (step - 1) * config_.warm_up.prompts_per_step + prompt;
  const int64_t examples = config_.quiet_star.baking_examples;
  if (examples == 0) return Example(place);
  return Example(data::ShuffledIndex(examples, seed, Purpose::kWarmUpTask, static_cast<uint64_t>(place)));
}

ThoughtText ThoughtTexts::HeldOut(int64_t prompt) const {
  return TextOf(data::MakeTask(options_, static_cast<uint64_t>(config_.run.seed), Purpose::kEvaluationTask, 0,
                               static_cast<uint64_t>(prompt)),
                {});
}

std::string ThoughtTexts::Shown(absl::Span<const int32_t> tokens) const {
  std::string shown;
  for (size_t at = 0; at < tokens.size();) {
    size_t end = at;
    while (end < tokens.size() && tokens[end] < first_thinking_token_) ++end;
    absl::StrAppend(&shown, tokenizer_->Decode(tokens.subspan(at, end - at)));
    for (; end < tokens.size() && tokens[end] >= first_thinking_token_; ++end) {
      absl::StrAppend(&shown, models::kThinkingTokens[static_cast<size_t>(tokens[end] - first_thinking_token_)]);
    }
    at = end;
  }
  return shown;
}

}  // namespace reprise::rl
