#include "rl/workloads/quiet_star/thought_texts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/jsonl/shuffled_index.h"
#include "models/quiet_star/thinking_tokens.h"
#include "rl/episodes/draw_problem.h"
#include "rl/episodes/problem_form.h"
#include "rl/workloads/quiet_star/baking.h"

namespace reprise::rl {
namespace {

// Prompt: index of an example of the SFT phase, token: index of the draw.
constexpr Purpose kBaking{18};

constexpr int64_t kPromptsOfStep = int64_t{1} << 24;  // that a draw can name

// A split is allowed if each side has this many of the first problems: then a side has so large a share of all problems
// that ProblemSource finds one of it at every place.
constexpr int64_t kTried = 1024, kLeast = 10;

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
                           ProblemSource problems)
    : config_(config),
      tokenizer_(&tokenizer),
      problems_(std::move(problems)),
      first_thinking_token_(grown.vocab_size - static_cast<int64_t>(models::kThinkingTokens.size())),
      thinking_tokens_(models::ThinkingTokenIds(grown)) {}

absl::StatusOr<ThoughtTexts> ThoughtTexts::Create(const Config& config, const models::Tokenizer& tokenizer,
                                                  const models::DecoderConfig& grown) {
  ASSIGN_OR_RETURN(ProblemSource problems, ProblemSource::Create(config, tokenizer));
  ThoughtTexts texts(config, tokenizer, grown, std::move(problems));
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
  RETURN_IF_ERROR(texts.CheckSplit());
  return texts;
}

absl::Status ThoughtTexts::CheckSplit() const {
  const EvaluationConfig& evaluation = config_.evaluation;
  if (evaluation.held_out_share == 0) return absl::OkStatus();
  int64_t held_out = 0;
  for (int64_t i = 0; i < kTried; ++i) {
    const data::Task task = problems_.At(MakeTaskPlace(Purpose::kEvaluationTask, /*step=*/0, i));
    ASSIGN_OR_RETURN(const std::string question, problems_.forms().FormFor(task.prompt));
    held_out += IsHeldOut(static_cast<uint64_t>(evaluation.split_seed), evaluation.held_out_share, question) ? 1 : 0;
  }
  if (std::min(held_out, kTried - held_out) >= kLeast) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "evaluation.held_out_share ", evaluation.held_out_share, ": of ", kTried, " drawn problems of data.task ",
      config_.data.task, ", ", held_out, " are held out and ", kTried - held_out,
      " are left for training, and each side needs ", kLeast, held_out < kLeast ? ": raise" : ": lower",
      " the share, or raise data.max_length", config_.data.task == "addition" ? "" : " or data.alphabet_size"));
}

std::string ThoughtTexts::WarningOfEvaluations() const {
  const EvaluationConfig& evaluation = config_.evaluation;
  if (evaluation.held_out_share == 0) return "";
  const int64_t drawn = std::min(evaluation.num_prompts, kTried);
  std::set<std::string> different;
  for (int64_t i = 0; i < drawn; ++i) {
    const data::Task task = Problem(Purpose::kEvaluationTask, /*step=*/0, i, /*held_out=*/true);
    absl::StatusOr<std::string> form = problems_.forms().FormFor(task.prompt);
    CHECK(form.ok());  // Create has encoded every character
    different.insert(*std::move(form));
  }
  return WarningOfFewProblems(evaluation, different.size(), drawn);
}

TaskPlace ThoughtTexts::MakeTaskPlace(Purpose purpose, int64_t step, int64_t prompt) const {
  return {.seed = static_cast<uint64_t>(config_.run.seed),
          .purpose = purpose,
          .step = static_cast<uint64_t>(step),
          .prompt = static_cast<uint64_t>(prompt)};
}

data::Task ThoughtTexts::Problem(Purpose purpose, int64_t step, int64_t prompt, bool held_out) const {
  absl::StatusOr<data::Task> task = problems_.Draw(MakeTaskPlace(purpose, step, prompt), held_out);
  CHECK(task.ok());  // see kLeast
  return *std::move(task);
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
  const size_t first = config_.quiet_star.counted == CountedTokens::kAnswer ? behind_question : 1;
  std::fill_n(text.counts_S.begin(), first, uint8_t{0});
  // Where and how long the model thinks is not its own choice, which it could learn.
  if (!thought.empty()) {
    text.counts_S[behind_question] = 0;
    text.counts_S[static_cast<size_t>(text.answer_begin) - 1] = 0;
  }
  return text;
}

ThoughtText ThoughtTexts::Example(int64_t example) const {
  const int64_t step = example / kPromptsOfStep, prompt = example % kPromptsOfStep;
  const data::Task task = Problem(Purpose::kSftTask, step, prompt, /*held_out=*/false);
  const double uniform = DrawUniform(static_cast<uint64_t>(config_.run.seed), kBaking,
                                     {.step = static_cast<uint64_t>(step), .prompt = static_cast<uint64_t>(prompt)});
  if (uniform < config_.quiet_star.plain_share) return TextOf(task, {});
  return TextOf(task, BakedThought(ChooseStrategy(example), Encoded(task.hint), thinking_tokens_));
}

ThoughtText ThoughtTexts::At(Phase phase, int64_t step, int64_t prompt) const {
  if (phase == Phase::kTraining) return TextOf(Problem(Purpose::kTask, step, prompt, /*held_out=*/false), {});
  const int64_t place = (step - 1) * config_.sft.prompts_per_step + prompt;
  const int64_t examples = config_.quiet_star.baking_examples;
  if (examples == 0) return Example(place);
  return Example(data::ShuffledIndex(examples, static_cast<uint64_t>(config_.run.seed), Purpose::kSftTask,
                                     static_cast<uint64_t>(place)));
}

ThoughtText ThoughtTexts::HeldOut(int64_t prompt) const {
  return TextOf(Problem(Purpose::kEvaluationTask, /*step=*/0, prompt, /*held_out=*/true), {});
}

std::string ThoughtTexts::Shown(absl::Span<const int32_t> tokens) const {
  std::string shown;
  for (size_t at = 0; at < tokens.size();) {
    size_t end = at;
    while (end < tokens.size() && tokens[end] < first_thinking_token_) ++end;
    absl::StrAppend(&shown, tokenizer_->Decode(tokens.subspan(at, end - at)));
    for (; end < tokens.size() && tokens[end] >= first_thinking_token_; ++end) {
      absl::StrAppend(&shown, models::kThinkingTokens[tokens[end] - first_thinking_token_]);
    }
    at = end;
  }
  return shown;
}

}  // namespace reprise::rl
