#include "rl/workloads/memory_agent/memory_record.h"

#include <algorithm>
#include <any>
#include <string>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/policy/encoder/text_decisions.h"
#include "rl/record/stored_episode.h"
#include "rl/record/table_row.h"
#include "rl/workload/task_purpose.h"
#include "rl/workloads/memory_agent/behaviour.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;

constexpr int64_t kMostStep = (int64_t{1} << 32) - 1;  // that draws have a place for

std::vector<StreamSchema> MemoryStreams(const MemoryConfig& memory) {
  const auto i64 = [](absl::string_view name) { return ScalarColumn(name, DType::kI64); };
  const auto f64 = [](absl::string_view name) { return ScalarColumn(name, DType::kF64); };
  const auto f32s = [](absl::string_view name) { return RaggedColumn(name, DType::kF32); };
  std::vector<StreamSchema> streams = {
      RecordStream("tasks", {i64("prompt"), i64("stage"), ScalarColumn("plan", DType::kI32),
                             RaggedColumn("notes", DType::kI32)}),
      RecordStream("episodes",
                   {i64("prompt"), i64("sample"), i64("total_steps"), f32s("logprobs"), f32s("behaviour_logprobs"),
                    f32s("ref_logprobs"), RaggedColumn("rewards", DType::kF64), f64("reward"), f64("advantage")}),
      RecordStream("decisions",
                   {i64("prompt"), i64("sample"), i64("turn"), ScalarColumn("action", DType::kI32),
                    StringColumn("state"), ScalarColumn("succeeded", DType::kU8), f64("latency"), i64("retrieved"),
                    i64("input_length"), i64("output_length"), f64("task"), f64("efficiency"), f64("quality"),
                    f64("composite"), f64("earned"), f64("advantage")})};
  if (HasFacts(memory)) {
    streams.push_back(
        RecordStream("answers", {i64("prompt"), i64("sample"), StringColumn("question"), StringColumn("expected"),
                                 StringColumn("answered"), ScalarColumn("correct", DType::kU8)}));
  }
  return streams;
}

std::vector<Comparison> MemoryComparisons(const MemoryConfig& memory) {
  const std::vector<std::string> episode = {"prompt", "sample"}, decision = {"prompt", "sample", "turn"};
  const ComparedColumn logprobs = {"logprobs", "", "decision"};
  const ComparedColumn behaviour = {"behaviour_logprobs", "under the behaviour", "decision"};
  const ComparedColumn reference = {"ref_logprobs", "under the reference", "decision"};
  std::vector<Comparison> comparisons = {
      {"tasks", "tasks", {"prompt"}, {"stage", "plan", {"notes", "", "note"}}},
      {"actions", "episodes", episode, {"total_steps"}},
      {"actions", "decisions", decision, {"action"}},
      {"results",
       "decisions",
       decision,
       {"state", "succeeded", "latency", "retrieved", "input_length", "output_length"}},
      {"logprobs", "episodes", episode, {logprobs, behaviour, reference}},
      CompareRouting(),
      {"rewards", "decisions", decision, {"task", "efficiency", "quality", "composite", "earned"}},
      {"rewards", "episodes", episode, {{"rewards", "", "function"}, "reward"}},
      {"advantages", "episodes", episode, {"advantage"}},
      {"advantages", "decisions", decision, {"advantage"}}};
  if (HasFacts(memory)) {
    comparisons.push_back({"results", "answers", episode, {"question", "expected", "answered", "correct"}});
  }
  for (Comparison& digests : CompareDigests()) comparisons.push_back(std::move(digests));
  comparisons.push_back(CompareMetrics());
  return comparisons;
}

// The numbers of one decision as a row has them.
struct DecisionRow {
  int64_t prompt = 0, sample = 0, turn = 0;
  int32_t action = 0;
  std::string state;
  bool succeeded = false;
  double latency = 0;
  int64_t retrieved = 0, input_length = 0, output_length = 0;
  OperationReward reward;
  double earned = 0, advantage = 0;
};

void TaskColumns(auto&& row, auto& prompt, auto& stage, auto& plan, auto& notes) {
  row.Columns(prompt, stage, plan, notes);
}

void EpisodeColumns(auto&& row, auto& episode, auto& total_steps) {
  row.Columns(episode.prompt, episode.sample, total_steps, episode.logprobs, episode.behaviour_logprobs,
              episode.ref_logprobs, episode.rewards_F, episode.reward, episode.advantage);
}

void DecisionColumns(auto&& row, auto& decision) {
  row.Columns(decision.prompt, decision.sample, decision.turn, decision.action, decision.state, decision.succeeded,
              decision.latency, decision.retrieved, decision.input_length, decision.output_length, decision.reward.task,
              decision.reward.efficiency, decision.reward.quality, decision.reward.composite, decision.earned,
              decision.advantage);
}

// What was asked at the end of an episode.
struct AnswerRow {
  int64_t prompt = 0, sample = 0;
  FactsAnswer answer;
  bool is_correct = false;
};

void AnswerColumns(auto&& row, auto& answer) {
  row.Columns(answer.prompt, answer.sample, answer.answer.question, answer.answer.expected, answer.answer.answered,
              answer.is_correct);
}

int StageOf(const Config& config, Phase phase, int64_t step) {
  return phase == Phase::kSft ? kMemoryStages : StageOfStep(config.memory, step);
}

uint64_t RunSeed(const Config& config) { return static_cast<uint64_t>(config.run.seed); }

MemoryTask TaskAt(const Config& config, Phase phase, int64_t step, int64_t prompt) {
  return DrawMemoryTask(RunSeed(config), TaskPurpose(phase), StageOf(config, phase, step), static_cast<uint64_t>(step),
                        static_cast<uint64_t>(prompt), HasFacts(config.memory));
}

bool IsPermutationOfNotes(std::vector<int32_t> notes) {
  std::sort(notes.begin(), notes.end());
  for (size_t i = 0; i < notes.size(); ++i) {
    if (notes[i] != static_cast<int32_t>(i)) return false;
  }
  return notes.size() == static_cast<size_t>(kNumNotes);
}

// Returns what is wrong with an episode that was read; "" if nothing. rewards: how many it must have.
absl::string_view FaultOfOperations(const EpisodeRecord& episode, int64_t sample, size_t steps, size_t rewards) {
  if (episode.sample != sample) return "it is not the next sample of its task";
  if (episode.logprobs.size() != steps) return "it has not one log-probability for each of its operations";
  const size_t behaviour = episode.behaviour_logprobs.size();
  if (behaviour != 0 && behaviour != steps) return "it lacks log-probabilities under the behaviour";
  return FaultOfEpisode(episode, steps, rewards);
}

absl::string_view FaultOfDecision(const DecisionRow& decision, int64_t turn) {
  if (decision.turn != turn) return "it is not the next operation of its episode";
  if (decision.action < 0 || decision.action >= static_cast<int32_t>(data::kMemoryOperationCount)) {
    return "its action is no operation";
  }
  if (decision.retrieved < 0 || decision.input_length < 0 || decision.output_length < 0 || decision.latency < 0) {
    return "it has a negative number of texts, length or latency";
  }
  const OperationReward& reward = decision.reward;
  const bool sound =
      AreWithinBounds(std::vector<double>{decision.latency, reward.task, reward.efficiency, reward.quality,
                                          reward.composite, decision.earned, decision.advantage});
  return sound ? "" : kOutOfBounds;
}

// Returns whether an operation can follow those of an episode: where it was drawn from choices, it is one of them.
bool CanFollow(const std::vector<MemoryOperation>& choices, MemoryOperation operation) {
  return choices.empty() || std::find(choices.begin(), choices.end(), operation) != choices.end();
}

// Checks an episode and its decisions, and moves both readers behind them.
absl::Status CheckEpisode(const Config& config, const MemoryTask& place, int64_t sample, size_t rewards,
                          RowReader* episodes, RowReader* decisions) {
  // The solutions of the SFT phase are not drawn.
  const MemoryBehaviour behaviour =
      place.purpose == Purpose::kSftTask ? MemoryBehaviour::kPolicy : StageBehaviour(config.memory, place.stage);
  EpisodeRecord episode;
  int64_t total_steps = 0;
  EpisodeColumns(*episodes, episode, total_steps);
  if (total_steps != DrawEpisodeLength(RunSeed(config), place, static_cast<uint64_t>(sample))) {
    return episodes->Broken("it has another number of operations than its place gives it");
  }
  const absl::string_view fault = FaultOfOperations(episode, sample, static_cast<size_t>(total_steps), rewards);
  if (!fault.empty()) return episodes->Broken(fault);
  if (episode.behaviour_logprobs.empty() != (behaviour == MemoryBehaviour::kPolicy)) {
    return episodes->Broken(
        "its stage's behaviour is the policy, and it has log-probabilities of another, or reversely");
  }
  std::vector<MemoryOperation> operation_T;
  for (int64_t turn = 0; turn < total_steps; ++turn, decisions->Next()) {
    if (!IsRowForEpisode(*decisions, episode.prompt, sample)) return episodes->Broken("it lacks an operation");
    DecisionRow decision;
    DecisionColumns(*decisions, decision);
    const absl::string_view wrong = FaultOfDecision(decision, turn);
    if (!wrong.empty()) return decisions->Broken(wrong);
    const MemoryOperation operation = static_cast<MemoryOperation>(decision.action);
    if (!CanFollow(UniformChoices(behaviour, operation_T, total_steps), operation)) {
      return decisions->Broken("its action is not one of those that the behaviour of its stage draws there");
    }
    operation_T.push_back(operation);
  }
  return decisions->status();
}

// Checks the answer of an episode, and moves the reader behind it.
absl::Status CheckAnswer(int64_t prompt, int64_t sample, const RowReader& episodes, RowReader* answers) {
  if (!IsRowForEpisode(*answers, prompt, sample)) return episodes.Broken("it lacks an answer");
  AnswerRow row;
  AnswerColumns(*answers, row);
  RETURN_IF_ERROR(answers->status());
  if (row.is_correct != row.answer.is_correct()) {
    return answers->Broken("whether it is correct is not whether it is the expected answer");
  }
  answers->Next();
  return absl::OkStatus();
}

}  // namespace

RecordSchema MemorySchema(const Config& config) {
  std::vector<StreamSchema> streams = MemoryStreams(config.memory);
  for (StreamSchema& results : ResultStreams(/*has_counts=*/true)) streams.push_back(std::move(results));
  return {.streams = std::move(streams),
          .comparisons = MemoryComparisons(config.memory),
          .check = [config](const StepTables& step) { return CheckMemoryTables(config, step); }};
}

absl::Status CheckMemoryTables(const Config& config, const StepTables& step) {
  const bool is_sft = step.phase == Phase::kSft;
  const int64_t prompts = is_sft ? config.sft.prompts_per_step : config.rollout.prompts_per_step;
  const int64_t samples = is_sft ? 1 : config.rollout.num_generations;
  RowReader tasks(step.Find("tasks")), episodes(step.Find("episodes")), decisions(step.Find("decisions")),
      answers(step.Find("answers"));
  for (int64_t prompt = 0; tasks.has_row(); ++prompt, tasks.Next()) {
    int64_t read_prompt = 0, stage = 0;
    int32_t plan = 0;
    std::vector<int32_t> notes;
    TaskColumns(tasks, read_prompt, stage, plan, notes);
    if (read_prompt != prompt || prompt >= prompts) return tasks.Broken("it is not the next prompt");
    if (step.step < 1 || step.step > kMostStep) return tasks.Broken("its step cannot be one of a run");
    const MemoryTask place = TaskAt(config, step.phase, step.step, prompt);
    if (stage != place.stage) return tasks.Broken("it is of another stage than its step");
    if (plan < 0 || plan >= kNumPlans) return tasks.Broken("its plan does not exist");
    if (place.is_about_facts() ? !notes.empty() : !IsPermutationOfNotes(notes)) {
      return tasks.Broken(place.is_about_facts() ? "it has notes, but is about facts"
                                                 : "its notes are not all notes, each once");
    }
    for (int64_t sample = 0; sample < samples; ++sample, episodes.Next()) {
      if (!episodes.has_row() || episodes.Peek<int64_t>(0) != prompt) return tasks.Broken("it lacks an episode");
      RETURN_IF_ERROR(CheckEpisode(config, place, sample, is_sft ? 0 : 1, &episodes, &decisions));
      if (place.is_about_facts()) RETURN_IF_ERROR(CheckAnswer(prompt, sample, episodes, &answers));
    }
  }
  if (answers.has_row()) return answers.Broken("it belongs to no episode");
  if (episodes.has_row()) return episodes.Broken("it belongs to no task");
  return decisions.has_row() ? decisions.Broken("it belongs to no episode") : absl::OkStatus();
}

std::vector<StreamTable> MemoryTables(const Config& config, const StepRecord& part) {
  std::vector<StreamTable> tables = EmptyTables(MemoryStreams(config.memory));
  for (const TaskRecord& record : part.task_P) {
    const MemoryTask& task = GetMemoryTask(record);
    const int64_t stage = task.stage;
    TaskColumns(RowWriter(part.phase, part.step, tables[0]), record.prompt, stage, task.plan, task.note_S);
  }
  for (const EpisodeRecord& episode : part.episode_N) {
    const EpisodeReport report = RebuildReport(config, FindTask(part.task_P, episode), episode);
    EpisodeColumns(RowWriter(part.phase, part.step, tables[1]), episode, episode.decisions.count);
    for (size_t t = 0; t < report.decision_T.size(); ++t) {
      const DecisionReport& decision = report.decision_T[t];
      const OperationResult& result = decision.result;
      const DecisionRow row = {.prompt = episode.prompt,
                               .sample = episode.sample,
                               .turn = static_cast<int64_t>(t),
                               .action = static_cast<int32_t>(result.operation),
                               .state = decision.state,
                               .succeeded = result.succeeded,
                               .latency = result.latency_ms,
                               .retrieved = result.retrieved,
                               .input_length = result.input_length,
                               .output_length = result.output_length,
                               .reward = decision.reward,
                               .earned = episode.earned_T.empty() ? 0 : episode.earned_T[t],
                               .advantage = episode.advantage_T.empty() ? episode.advantage : episode.advantage_T[t]};
      DecisionColumns(RowWriter(part.phase, part.step, tables[2]), row);
    }
    if (!report.answer) continue;
    const AnswerRow row = {episode.prompt, episode.sample, *report.answer, report.answer->is_correct()};
    AnswerColumns(RowWriter(part.phase, part.step, tables[3]), row);
  }
  return tables;
}

TaskRecord MemoryTaskRecord(const Config& config, Phase phase, int64_t step, int64_t prompt) {
  TaskRecord task;
  task.prompt = prompt;
  task.content = TaskAt(config, phase, step, prompt);
  return task;
}

EpisodeRecord MemoryEpisodeRecord(const TaskRecord& task, int64_t sample, absl::Span<const MemoryOperation> operation_T,
                                  std::vector<std::vector<int32_t>> token_TS) {
  EpisodeRecord episode;
  episode.prompt = task.prompt;
  episode.sample = sample;
  episode.terminated = true;
  episode.decisions.count = episode.decisions.turns = static_cast<int64_t>(operation_T.size());
  TextDecisions decisions = {std::move(token_TS), {}};
  for (size_t t = 0; t < operation_T.size(); ++t) {
    episode.decisions.turn_T.push_back(static_cast<int32_t>(t));
    decisions.action_T.push_back(static_cast<int32_t>(operation_T[t]));
  }
  episode.content = std::move(decisions);
  return episode;
}

const MemoryTask& GetMemoryTask(const TaskRecord& task) {
  const auto* const content = std::any_cast<MemoryTask>(&task.content);
  CHECK(content != nullptr);
  return *content;
}

std::vector<MemoryOperation> GetOperations(const EpisodeRecord& episode) {
  const auto* const content = std::any_cast<TextDecisions>(&episode.content);
  CHECK(content != nullptr);
  std::vector<MemoryOperation> operation_T;
  for (const int32_t action : content->action_T) operation_T.push_back(static_cast<MemoryOperation>(action));
  return operation_T;
}

EpisodeReport RebuildReport(const Config& config, const TaskRecord& task, const EpisodeRecord& episode) {
  return ReportEpisode(config.memory, RunSeed(config), GetMemoryTask(task), static_cast<uint64_t>(episode.sample),
                       GetOperations(episode));
}

StepRecord ReadMemoryRecord(const Config& config, const StepTables& step) {
  StepRecord record;
  static_cast<StepResults&>(record) = ReadResults(step);
  for (RowReader tasks(step.Find("tasks")); tasks.has_row(); tasks.Next()) {
    record.task_P.push_back(MemoryTaskRecord(config, step.phase, step.step, tasks.Peek<int64_t>(0)));
  }
  RowReader decisions(step.Find("decisions"));
  for (RowReader episodes(step.Find("episodes")); episodes.has_row(); episodes.Next()) {
    EpisodeRecord read;
    int64_t total_steps = 0;
    EpisodeColumns(episodes, read, total_steps);
    std::vector<MemoryOperation> operation_T;
    for (; IsRowForEpisode(decisions, read.prompt, read.sample); decisions.Next()) {
      DecisionRow decision;
      DecisionColumns(decisions, decision);
      operation_T.push_back(static_cast<MemoryOperation>(decision.action));
      read.earned_T.push_back(decision.earned);
    }
    EpisodeRecord& episode =
        record.episode_N.emplace_back(MemoryEpisodeRecord(FindTask(record.task_P, read), read.sample, operation_T));
    TakeNumbers(std::move(read), &episode);
  }
  return record;
}

}  // namespace reprise::rl
