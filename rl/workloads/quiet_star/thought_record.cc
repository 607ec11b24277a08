#include "rl/workloads/quiet_star/thought_record.h"

#include <algorithm>
#include <any>
#include <functional>
#include <string>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "models/quiet_star/thinking_tokens.h"
#include "rl/record/stored_episode.h"
#include "rl/record/table_row.h"

namespace reprise::rl {
namespace {

struct ThoughtRow {
  int64_t prompt = 0, sample = 0, turn = 0;
  models::Thought thought;
  double earned = 0, advantage = 0;
};

std::vector<StreamSchema> ThoughtStreams() {
  return {RecordStream("tasks", {ScalarColumn("prompt", DType::kI64), RaggedColumn("tokens", DType::kI32),
                                 ScalarColumn("answer_begin", DType::kI64)}),
          RecordStream("episodes", {ScalarColumn("prompt", DType::kI64), ScalarColumn("sample", DType::kI64),
                                    RaggedColumn("logprobs", DType::kF32), RaggedColumn("entropies", DType::kF32),
                                    RaggedColumn("behaviour_logprobs", DType::kF32),
                                    RaggedColumn("ref_logprobs", DType::kF32), RaggedColumn("rewards", DType::kF64),
                                    ScalarColumn("reward", DType::kF64), ScalarColumn("advantage", DType::kF64)}),
          RecordStream("thoughts", {ScalarColumn("prompt", DType::kI64), ScalarColumn("sample", DType::kI64),
                                    ScalarColumn("turn", DType::kI64), ScalarColumn("position", DType::kI64),
                                    RaggedColumn("tokens", DType::kI32), ScalarColumn("earned", DType::kF64),
                                    ScalarColumn("advantage", DType::kF64)})};
}

std::vector<Comparison> ThoughtComparisons() {
  const std::vector<std::string> episode = {"prompt", "sample"}, thought = {"prompt", "sample", "turn"};
  const ComparedColumn tokens = {"tokens", "", "token"}, logprobs = {"logprobs", "", "token"};
  const ComparedColumn behaviour = {"behaviour_logprobs", "under the behaviour", "token"};
  const ComparedColumn reference = {"ref_logprobs", "under the reference", "token"};
  const ComparedColumn entropies = {"entropies", "entropy at", "token"};
  std::vector<Comparison> comparisons = {
      {"tasks", "tasks", {"prompt"}, {tokens, "answer_begin"}},
      {"actions", "thoughts", thought, {"position", tokens}},
      {"logprobs", "episodes", episode, {logprobs, entropies, behaviour, reference}},
      {"rewards", "thoughts", thought, {"earned"}},
      {"rewards", "episodes", episode, {{"rewards", "", "function"}, {"reward", ""}}},
      {"advantages", "thoughts", thought, {{"advantage", ""}}},
      {"advantages", "episodes", episode, {{"advantage", ""}}}};
  comparisons.push_back(CompareRouting());
  for (Comparison& digests : CompareDigests()) comparisons.push_back(std::move(digests));
  comparisons.push_back(CompareMetrics());
  return comparisons;
}

void TaskColumns(auto&& row, auto& prompt, auto& tokens, auto& answer_begin) {
  row.Columns(prompt, tokens, answer_begin);
}

void EpisodeColumns(auto&& row, auto& episode) {
  row.Columns(episode.prompt, episode.sample, episode.logprobs, episode.entropies, episode.behaviour_logprobs,
              episode.ref_logprobs, episode.rewards_F, episode.reward, episode.advantage);
}

void ThoughtColumns(auto&& row, auto& thought) {
  row.Columns(thought.prompt, thought.sample, thought.turn, thought.thought.position, thought.thought.tokens,
              thought.earned, thought.advantage);
}

bool AreTokens(absl::Span<const int32_t> tokens, int64_t vocabulary) {
  return std::all_of(tokens.begin(), tokens.end(),
                     [&](int32_t token) { return token >= 0 && (vocabulary == 0 || token < vocabulary); });
}

// Returns what is wrong with an episode that was read; "" if nothing. rewards: how many it must have.
absl::string_view FaultOfDecisions(const EpisodeRecord& episode, size_t decisions, bool has_behaviour, size_t rewards) {
  if (episode.logprobs.size() != decisions) return "it has not one log-probability for each of its decisions";
  if (episode.entropies.size() != decisions) return "it has not one entropy for each of its decisions";
  if (episode.behaviour_logprobs.size() != (has_behaviour ? decisions : 0)) {
    return "it has another number of log-probabilities under the behaviour than decisions that were drawn";
  }
  return FaultOfEpisode(episode, decisions, rewards);
}

// The same of a thought. after: the position of the one before it in its episode; -1: it is the first.
absl::string_view FaultOfThought(const ThoughtForm& form, const ThoughtRow& row, int64_t turn, int64_t after,
                                 int64_t tokens_S) {
  const QuietStarConfig& quiet_star = form.config.quiet_star;
  if (row.turn != turn) return "it is not the next thought of its episode";
  if (row.thought.position <= after || row.thought.position >= tokens_S - 1) {
    return "its position is not behind the last thought's, with a token of the text behind it";
  }
  const int64_t length = static_cast<int64_t>(row.thought.tokens.size());
  if (length < quiet_star.min_thought_length || length > quiet_star.max_thought_length) {
    return "its number of tokens is not within quiet_star.min_thought_length and max_thought_length";
  }
  const int64_t start = form.vocabulary - static_cast<int64_t>(models::kThinkingTokens.size());
  const auto is_delimiter = [&](int32_t token) {
    return form.vocabulary > 0 && (token == start || token == start + 1);
  };
  if (!AreTokens(row.thought.tokens, form.vocabulary) ||
      std::any_of(row.thought.tokens.begin(), row.thought.tokens.end(), is_delimiter)) {
    return "it has a token that is not in the vocabulary, or a delimiter";
  }
  return IsWithinBounds(row.earned) && IsWithinBounds(row.advantage) ? "" : kOutOfBounds;
}

struct Readers {
  explicit Readers(const StepTables& step)
      : tasks(step.Find("tasks")), episodes(step.Find("episodes")), thoughts(step.Find("thoughts")) {}
  RowReader tasks, episodes, thoughts;
};

// Checks the next episode and its thoughts, and moves their readers behind them.
absl::Status CheckEpisode(const ThoughtForm& form, bool is_sft, int64_t sample, int64_t tokens_S, Readers* read) {
  EpisodeRecord episode;
  EpisodeColumns(read->episodes, episode);
  if (episode.sample != sample) return read->episodes.Broken("it is not the next sample of its task");
  size_t decisions = is_sft ? static_cast<size_t>(tokens_S - 1) : 0;
  int64_t turn = 0, after = -1;
  for (; IsRowForEpisode(read->thoughts, episode.prompt, sample); read->thoughts.Next(), ++turn) {
    if (is_sft) return read->thoughts.Broken("an SFT phase has no thoughts");
    ThoughtRow row;
    ThoughtColumns(read->thoughts, row);
    const absl::string_view fault = FaultOfThought(form, row, turn, after, tokens_S);
    if (!fault.empty()) return read->thoughts.Broken(fault);
    after = row.thought.position;
    decisions += row.thought.tokens.size();
  }
  const absl::string_view fault = FaultOfDecisions(episode, decisions, /*has_behaviour=*/!is_sft, is_sft ? 0 : 1);
  return fault.empty() ? absl::OkStatus() : read->episodes.Broken(fault);
}

// Returns what the token at a place has; `otherwise` where tokens have nothing of their own.
double At(absl::Span<const double> value_T, size_t token, double otherwise) {
  return value_T.empty() ? otherwise : value_T[token];
}

}  // namespace

RecordSchema ThoughtSchema(const ThoughtForm& form) {
  std::vector<StreamSchema> streams = ThoughtStreams();
  for (StreamSchema& results : ResultStreams(/*has_counts=*/true)) streams.push_back(std::move(results));
  return {.streams = std::move(streams), .comparisons = ThoughtComparisons(), .check = [form](const StepTables& step) {
            return CheckThoughtTables(form, step);
          }};
}

absl::Status CheckThoughtTables(const ThoughtForm& form, const StepTables& step) {
  const Config& config = form.config;
  const bool is_sft = step.phase == Phase::kSft;
  const int64_t prompts = is_sft ? config.sft.prompts_per_step : config.rollout.prompts_per_step;
  const int64_t samples = is_sft ? 1 : config.rollout.num_generations;
  Readers read(step);
  for (int64_t prompt = 0; read.tasks.has_row(); ++prompt, read.tasks.Next()) {
    int64_t read_prompt = 0, answer_begin = 0;
    std::vector<int32_t> tokens;
    TaskColumns(read.tasks, read_prompt, tokens, answer_begin);
    if (read_prompt != prompt || prompt >= prompts) return read.tasks.Broken("it is not the next prompt");
    const int64_t tokens_S = static_cast<int64_t>(tokens.size());
    if (tokens_S < 2 || !AreTokens(tokens, form.vocabulary)) {
      return read.tasks.Broken("its text is not two or more tokens of the vocabulary");
    }
    if (answer_begin < 1 || answer_begin >= tokens_S) return read.tasks.Broken("its answer is not the end of its text");
    for (int64_t sample = 0; sample < samples; ++sample, read.episodes.Next()) {
      if (!read.episodes.has_row() || read.episodes.Peek<int64_t>(0) != prompt) {
        return read.tasks.Broken("it lacks an episode");
      }
      RETURN_IF_ERROR(CheckEpisode(form, is_sft, sample, tokens_S, &read));
    }
  }
  if (read.episodes.has_row()) return read.episodes.Broken("it belongs to no task");
  return read.thoughts.has_row() ? read.thoughts.Broken("it belongs to no episode") : absl::OkStatus();
}

std::vector<StreamTable> ThoughtTables(const ThoughtTexts& texts, const StepRecord& part) {
  std::vector<StreamTable> tables = EmptyTables(ThoughtStreams());
  for (const TaskRecord& task : part.task_P) {
    const ThoughtText text = texts.At(part.phase, part.step, task.prompt);
    TaskColumns(RowWriter(part.phase, part.step, tables[0]), task.prompt, text.token_S, text.answer_begin);
  }
  for (const EpisodeRecord& episode : part.episode_N) {
    EpisodeColumns(RowWriter(part.phase, part.step, tables[1]), episode);
    const std::vector<models::Thought>& thoughts = GetThoughts(episode);
    size_t first = 0;
    for (size_t turn = 0; turn < thoughts.size(); ++turn) {
      const size_t last = first + thoughts[turn].tokens.size() - 1;
      const ThoughtRow row = {.prompt = episode.prompt,
                              .sample = episode.sample,
                              .turn = static_cast<int64_t>(turn),
                              .thought = thoughts[turn],
                              .earned = At(episode.earned_T, last, 0.0),
                              .advantage = At(episode.advantage_T, first, episode.advantage)};
      ThoughtColumns(RowWriter(part.phase, part.step, tables[2]), row);
      first = last + 1;
    }
  }
  return tables;
}

TaskRecord ThoughtTask(const ThoughtTexts& texts, Phase phase, int64_t step, int64_t prompt) {
  ThoughtText text = texts.At(phase, step, prompt);
  TaskRecord task;
  task.prompt = prompt;
  task.content = TextToThinkAbout{std::move(text.token_S), std::move(text.counts_S)};
  return task;
}

EpisodeRecord ThoughtEpisode(const TaskRecord& task, int64_t sample, std::vector<models::Thought> thoughts) {
  ThoughtsOfSample content = {.thought_P = std::move(thoughts)};
  EpisodeRecord episode;
  episode.prompt = task.prompt;
  episode.sample = sample;
  episode.terminated = true;  // a text ends by itself: no state follows it, whose value would continue its rewards
  episode.decisions = MakeDecisions(content, TextIn(task));
  episode.content = std::move(content);
  return episode;
}

EpisodeRecord TextEpisode(const TaskRecord& task) {
  ThoughtsOfSample content = {.thought_P = {}, .predicts_text = true};
  EpisodeRecord episode;
  episode.prompt = task.prompt;
  episode.terminated = true;
  episode.decisions = MakeDecisions(content, TextIn(task));
  episode.decisions.drawn_T = episode.decisions.learned_T;
  episode.content = std::move(content);
  return episode;
}

const std::vector<models::Thought>& GetThoughts(const EpisodeRecord& episode) {
  const auto* const content = std::any_cast<ThoughtsOfSample>(&episode.content);
  CHECK(content != nullptr);
  return content->thought_P;
}

StepRecord ReadThoughtRecord(const ThoughtTexts& texts, const StepTables& step) {
  StepRecord record;
  static_cast<StepResults&>(record) = ReadResults(step);
  for (RowReader tasks(step.Find("tasks")); tasks.has_row(); tasks.Next()) {
    record.task_P.push_back(ThoughtTask(texts, step.phase, step.step, tasks.Peek<int64_t>(0)));
  }
  RowReader thoughts(step.Find("thoughts"));
  for (RowReader episodes(step.Find("episodes")); episodes.has_row(); episodes.Next()) {
    EpisodeRecord read;
    EpisodeColumns(episodes, read);
    std::vector<models::Thought> of_episode;
    std::vector<double>&earned_T = read.earned_T, &advantage_T = read.advantage_T;
    for (; IsRowForEpisode(thoughts, read.prompt, read.sample); thoughts.Next()) {
      ThoughtRow row;
      ThoughtColumns(thoughts, row);
      earned_T.resize(earned_T.size() + row.thought.tokens.size(), 0.0);
      earned_T.back() = row.earned;
      advantage_T.resize(earned_T.size(), row.advantage);
      of_episode.push_back(std::move(row.thought));
    }
    const TaskRecord& task = FindTask(record.task_P, read);
    EpisodeRecord& episode = record.episode_N.emplace_back(
        step.phase == Phase::kSft ? TextEpisode(task) : ThoughtEpisode(task, read.sample, std::move(of_episode)));
    TakeNumbers(std::move(read), &episode);
  }
  return record;
}

}  // namespace reprise::rl
