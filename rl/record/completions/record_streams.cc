#include "rl/record/completions/record_streams.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/record/recorded.h"
#include "rl/record/table_row.h"
#include "rl/workloads/completions/section/environment_section.h"

namespace reprise::rl {
namespace {

ColumnSchema I64(absl::string_view name) { return ScalarColumn(name, DType::kI64); }
ColumnSchema F64(absl::string_view name) { return ScalarColumn(name, DType::kF64); }
ColumnSchema U8(absl::string_view name) { return ScalarColumn(name, DType::kU8); }
ColumnSchema Tokens(absl::string_view name) { return RaggedColumn(name, DType::kI32); }
ColumnSchema Logprobs(absl::string_view name) { return RaggedColumn(name, DType::kF32); }

std::string NameOfEvaluation(const StreamTable& table, int64_t row) {
  bool on_start = false, greedy = false;
  int64_t prompt = 0, sample = 0, turn = 0;
  RowReader(&table, row).Columns(on_start, greedy, prompt, sample, turn);
  return absl::StrCat(on_start ? "on start, " : "", "held-out problem ", prompt, " ",
                      greedy ? "greedy" : absl::StrCat("sample ", sample),
                      turn < 0 ? " score" : absl::StrCat(" turn ", turn));
}

// Returns what is compared in records of any form: streams and columns that neither record has are skipped. Only the
// name of the rows of turns depends on the form.
std::vector<Comparison> CompletionComparisons(RecordForm form) {
  const std::vector<std::string> episode = {"prompt", "sample"}, turn = {"prompt", "sample", "turn"};
  const std::vector<std::string>& turns = form.has_turns ? turn : episode;
  const std::string rows = form.has_turns ? "turns" : "episodes";
  const ComparedColumn reward = {"reward", ""}, advantage = {"advantage", ""};
  const ComparedColumn tokens = {"tokens", "", "token"}, observation = {"observation", "", "observation token"};
  const ComparedColumn logprobs = {"logprobs", "", "token"},
                       reference = {"ref_logprobs", "under the reference", "token"};
  const ComparedColumn behaviour = {"behaviour_logprobs", "under the behaviour", "token"};
  const ComparedColumn entropies = {"entropies", "entropy at", "token"};
  std::vector<Comparison> comparisons = {
      {"tasks", "tasks", {"prompt"}, {"text", "answer", tokens}},
      {"tokens", "turns", turns, {observation, tokens, "terminated"}, rows},
      {"replies", "replies", turn, {"answered", "observation", "reward", "done", "truncated"}},
      {.stage = "replies",
       .stream = "tool_calls",
       .key = turn,
       .columns = {{"call", "tool call"}},
       .rows = "tool calls",
       .skips_absent = true},  // a limit that no call reaches makes no difference
      {"actions",
       "actions",
       turn,
       {"method", "valid", {"learned_begin", "first learned token"}, {"learned_end", "end of learned tokens"}}},
      {"logprobs", "turns", turns, {logprobs, entropies, reference, behaviour}, rows},
      CompareRouting(),
      {"rewards", "episodes", episode, {{"rewards", "", "function"}, reward}},
      {"advantages", "episodes", episode, {advantage}}};
  for (Comparison& digests : CompareDigests()) comparisons.push_back(std::move(digests));
  comparisons.push_back({"evaluation",
                         "evaluation_replies",
                         {"on_start", "greedy", "prompt", "sample", "turn"},
                         {"asked", "observation", "reward", "done", "truncated", {"tool_call", "tool call"}},
                         "replies",
                         NameOfEvaluation});
  comparisons.push_back(CompareMetrics());
  return comparisons;
}

// A replay could compute the same impossible value, so that a comparison would not find it.
absl::Status CheckBehaviour(const StreamTable& turns) {
  const absl::StatusOr<int> column = FindColumn(turns.schema(), "behaviour_logprobs");
  for (int64_t row = 0; column.ok() && row < turns.rows(); ++row) {
    for (const float logprob : turns.Row<float>(*column, row)) {
      if (std::isfinite(logprob) && logprob <= 0) continue;
      return RowReader(&turns, row).Broken("a log-probability under the behaviour is impossible for a drawn token");
    }
  }
  return absl::OkStatus();
}

}  // namespace

RecordForm MakeRecordForm(const Config& config) {
  return {.has_turns = !config.environment.name.empty(),
          .checks_actions = ChecksActions(config.environment),
          .counts_tool_calls = config.environment.max_tool_calls > 0,
          .evaluates_outside = config.evaluation.every > 0 && !config.process.command.empty(),
          .has_behaviour = FiltersSampling(config)};
}

std::vector<StreamSchema> CompletionStreams(RecordForm form) {
  std::vector<ColumnSchema> turns = {
      I64("prompt"),    I64("sample"),        I64("turn"),           Tokens("observation"),
      Tokens("tokens"), Logprobs("logprobs"), Logprobs("entropies"), Logprobs("ref_logprobs"),
      U8("terminated")};
  if (form.has_behaviour) turns.push_back(Logprobs("behaviour_logprobs"));
  std::vector<StreamSchema> streams = {
      RecordStream("tasks", {I64("prompt"), StringColumn("text"), StringColumn("answer"), Tokens("tokens")}),
      RecordStream("turns", std::move(turns)),
      RecordStream("episodes", {I64("prompt"), I64("sample"), RaggedColumn("rewards", DType::kF64), F64("reward"),
                                F64("advantage")})};
  const auto add = [&](bool exists, absl::string_view name, std::vector<ColumnSchema> columns) {
    if (exists) streams.push_back(RecordStream(name, std::move(columns)));
  };
  add(form.has_turns, "replies",
      {I64("prompt"), I64("sample"), I64("turn"), U8("answered"), StringColumn("observation"), F64("reward"),
       U8("done"), U8("truncated")});
  add(form.checks_actions, "actions",
      {I64("prompt"), I64("sample"), I64("turn"), U8("method"), U8("valid"), I64("learned_begin"), I64("learned_end")});
  add(form.counts_tool_calls, "tool_calls", {I64("prompt"), I64("sample"), I64("turn"), U8("call")});
  add(form.evaluates_outside, "evaluation_replies",
      {U8("on_start"), U8("greedy"), I64("prompt"), I64("sample"), I64("turn"), StringColumn("observation"),
       F64("reward"), U8("done"), U8("truncated"), U8("tool_call"), FixedColumn("asked", DType::kU8, 32)});
  return streams;
}

RecordSchema CompletionSchema(RecordForm form) {
  std::vector<StreamSchema> streams = CompletionStreams(form);
  for (StreamSchema& results : ResultStreams(/*has_counts=*/true)) streams.push_back(std::move(results));
  return {.streams = std::move(streams),
          .comparisons = CompletionComparisons(form),
          .orders = {{"evaluation_replies", {"on_start", "greedy"}}},
          .check = [form](const StepTables& step) -> absl::Status {
            RETURN_IF_ERROR(FromTables(step, form).status());
            return CheckBehaviour(*step.Find("turns"));
          }};
}

}  // namespace reprise::rl
