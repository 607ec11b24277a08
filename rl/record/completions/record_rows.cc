// Converts the record of completions to rows, and back.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_streams.h"
#include "rl/record/completions/record_turns.h"
#include "rl/record/table_row.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kNoReward =
    "its reward is out of bounds: rewards are finite, at most 1e18, and not subnormal";

// Which turn a row is of.
struct Place {
  int64_t prompt = -1, sample = -1, turn = -1;

  bool operator==(const Place&) const = default;
};

// The tokens of one turn, with the values of its action's tokens.
struct TurnRow {
  Place place;
  std::vector<int32_t> observation, tokens;
  std::vector<float> logprobs, entropies, ref_logprobs, behaviour_logprobs;
  bool terminated = false;
};

// Which column of each stream holds which field.
void TaskColumns(auto&& row, auto& task) {
  auto& completion = CompletionOf(task);
  row.Columns(task.prompt, completion.text, completion.answer, completion.tokens);
}
void TurnColumns(auto&& row, auto& turn, RecordForm form) {
  row.Columns(turn.place.prompt, turn.place.sample, turn.place.turn, turn.observation, turn.tokens, turn.logprobs,
              turn.entropies, turn.ref_logprobs, turn.terminated);
  if (form.has_behaviour) row.Columns(turn.behaviour_logprobs);
}
void EpisodeColumns(auto&& row, auto& episode) {
  row.Columns(episode.prompt, episode.sample, episode.rewards_F, episode.reward, episode.advantage);
}
void ReplyColumns(auto&& row, auto& place, auto& answered, auto& reply) {
  row.Columns(place.prompt, place.sample, place.turn, answered, reply.observation, reply.reward, reply.done,
              reply.truncated);
}
void CallColumns(auto&& row, auto& place, auto& call) { row.Columns(place.prompt, place.sample, place.turn, call); }
void CheckColumns(auto&& row, auto& place, auto& check) {
  row.Columns(place.prompt, place.sample, place.turn, check.method, check.valid, check.learned_begin,
              check.learned_end);
}
void EvaluationColumns(auto&& row, auto& entry) {
  auto& reply = entry.reply;
  row.Columns(entry.on_start, entry.greedy, entry.prompt, entry.sample, entry.turn, reply.observation, reply.reward,
              reply.done, reply.truncated, reply.tool_call, entry.asked);
}

class Writer {
 public:
  Writer(const StepRecord& record, RecordForm form, std::vector<StreamTable> tables)
      : record_(record), form_(form), tables_(std::move(tables)) {}

  std::vector<StreamTable> Write() {
    for (const TaskRecord& task : record_.task_P) TaskColumns(Row("tasks"), task);
    for (const EpisodeRecord& episode : record_.episode_N) Append(episode);
    for (const EvaluationReply& entry : GetEvaluationReplies(record_))
      EvaluationColumns(Row("evaluation_replies"), entry);
    return std::move(tables_);
  }

 private:
  RowWriter Row(absl::string_view stream) {
    const auto table = std::find_if(tables_.begin(), tables_.end(),
                                    [&](const StreamTable& each) { return each.schema().name == stream; });
    CHECK(table != tables_.end());
    return RowWriter(record_.phase, record_.step, *table);
  }

  // A completion is an episode of one turn that observes only its task.
  void Append(const EpisodeRecord& episode) {
    const bool is_training = record_.phase == Phase::kTraining;
    const CompletionEpisode& completion = CompletionOf(episode);
    CHECK_EQ(completion.turn_K.empty(), !form_.has_turns);
    CHECK_EQ(episode.behaviour_logprobs.empty(), !(form_.has_behaviour && is_training));
    EpisodeColumns(Row("episodes"), episode);
    Place place = {episode.prompt, episode.sample, 0};
    if (completion.turn_K.empty()) {
      AppendTurn(episode, place, 0, 0, completion.tokens.size(), episode.terminated);
    }
    size_t begin = 0;
    for (const TurnRecord& turn : completion.turn_K) {
      CHECK_EQ(turn.check.has_value(), form_.checks_actions && is_training);
      const size_t action = begin + static_cast<size_t>(turn.observation_tokens);
      const size_t end = action + static_cast<size_t>(turn.action_tokens);
      AppendTurn(episode, place, begin, action, end, turn.complete);
      const bool answered = turn.reply.has_value();
      const Reply reply = turn.reply.value_or(Reply());
      ReplyColumns(Row("replies"), place, answered, reply);
      if (form_.counts_tool_calls) CallColumns(Row("tool_calls"), place, reply.tool_call);
      if (turn.check) CheckColumns(Row("actions"), place, *turn.check);
      ++place.turn;
      begin = end;
    }
  }

  // The turn's observation is tokens [begin, action), its action [action, end).
  void AppendTurn(const EpisodeRecord& episode, const Place& place, size_t begin, size_t action, size_t end,
                  bool terminated) {
    const std::vector<int32_t>& tokens = CompletionOf(episode).tokens;
    // Empty where there is no reference, or no behaviour but the policy.
    const auto part = [&](const auto& values, size_t from, size_t to) {
      CHECK(values.empty() || values.size() == tokens.size());
      const auto at = [&](size_t i) {
        return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size()));
      };
      return std::decay_t<decltype(values)>(at(from), at(to));
    };
    const TurnRow turn = {place,
                          part(tokens, begin, action),
                          part(tokens, action, end),
                          part(episode.logprobs, action, end),
                          part(episode.entropies, action, end),
                          part(episode.ref_logprobs, action, end),
                          part(episode.behaviour_logprobs, action, end),
                          terminated};
    TurnColumns(Row("turns"), turn, form_);
  }

  const StepRecord& record_;
  const RecordForm form_;
  std::vector<StreamTable> tables_;
};

// Reads the tables side by side: the rows of each are in the order of episodes and turns.
class Reader {
 public:
  Reader(const StepTables& step, RecordForm form)
      : form_(form),
        is_training_(step.phase == Phase::kTraining),
        tasks_(step.Find("tasks")),
        turns_(step.Find("turns")),
        episodes_(step.Find("episodes")),
        replies_(step.Find("replies")),
        actions_(step.Find("actions")),
        calls_(step.Find("tool_calls")),
        evaluations_(step.Find("evaluation_replies")) {}

  absl::Status Read(StepRecord* record) {
    for (; tasks_.has_row(); tasks_.Next()) TaskColumns(tasks_, record->task_P.emplace_back());
    while (turns_.has_row()) RETURN_IF_ERROR(ReadEpisode(&record->episode_N.emplace_back()));
    for (; evaluations_.has_row(); evaluations_.Next()) {
      RETURN_IF_ERROR(ReadEvaluation(&GetEvaluationReplies(*record).emplace_back()));
    }
    for (const RowReader* rest : {&episodes_, &replies_, &actions_, &calls_}) {
      if (rest->has_row()) return rest->Broken("it belongs to no turn");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ReadEvaluation(EvaluationReply* entry) {
    EvaluationColumns(evaluations_, *entry);
    RETURN_IF_ERROR(evaluations_.status());
    if (entry->reply.tool_call > ToolCall::kRefused) return evaluations_.Broken("its tool_call is not a known value");
    const bool is_null = entry->turn == EvaluationReply::kScore && std::isnan(entry->reply.reward);
    return is_null || IsWithinBounds(entry->reply.reward) ? absl::OkStatus() : evaluations_.Broken(kNoReward);
  }

  // Reads the episode's row and all rows of its turns.
  absl::Status ReadEpisode(EpisodeRecord* episode) {
    const auto is_next = [&] {
      return turns_.has_row() && turns_.Peek<int64_t>(0) == episode->prompt &&
             turns_.Peek<int64_t>(1) == episode->sample;
    };
    if (episodes_.has_row()) EpisodeColumns(episodes_, *episode);
    if (!episodes_.has_row() || !is_next()) return turns_.Broken("its episode is missing");
    episodes_.Next();
    do {
      RETURN_IF_ERROR(ReadTurn(episode));
      turns_.Next();
    } while (form_.has_turns && is_next());
    const CompletionEpisode& completion = CompletionOf(*episode);
    if (form_.has_turns) episode->terminated = EndedByEnvironment(completion);
    episode->decisions = MakeDecisions(completion);
    return absl::OkStatus();
  }

  // Columns that are not compared with computed ones must hold what Writer writes.
  absl::Status ReadTurn(EpisodeRecord* episode) {
    TurnRow row;
    TurnColumns(turns_, row, form_);
    RETURN_IF_ERROR(turns_.status());
    CompletionEpisode& completion = CompletionOf(*episode);
    const bool is_first = completion.turn_K.empty(), is_drawn = form_.has_behaviour && is_training_;
    const size_t size = row.tokens.size();
    if (row.place.turn != static_cast<int64_t>(completion.turn_K.size())) {
      return turns_.Broken(form_.has_turns ? "its turn is out of order"
                                           : "its turn is not 0, the only turn of an episode");
    }
    if (is_first && !row.observation.empty()) {
      return turns_.Broken("it has an observation, but the first turn of an episode observes only its task");
    }
    if (size == 0 || size != row.logprobs.size()) {
      return turns_.Broken("it has no tokens, or a different number of log-probabilities");
    }
    if (row.entropies.size() != size) return turns_.Broken("its number of entropies differs from that of its tokens");
    if (!row.ref_logprobs.empty() && row.ref_logprobs.size() != size) {
      return turns_.Broken("its number of log-probabilities by the reference differs from that of its tokens");
    }
    if (!is_first && row.ref_logprobs.empty() != episode->ref_logprobs.empty()) {
      return turns_.Broken("only one of it and the turn before it has log-probabilities by the reference");
    }
    if (row.behaviour_logprobs.size() != (is_drawn ? size : 0)) {
      return turns_.Broken("its number of log-probabilities under the behaviour differs from that of its drawn tokens");
    }
    const auto append = [&](const auto& values, auto& to) {
      if (!values.empty()) to.insert(to.end(), row.observation.size(), 0);
      to.insert(to.end(), values.begin(), values.end());
    };
    std::vector<int32_t>& tokens = completion.tokens;
    tokens.insert(tokens.end(), row.observation.begin(), row.observation.end());
    tokens.insert(tokens.end(), row.tokens.begin(), row.tokens.end());
    append(row.logprobs, episode->logprobs);
    append(row.entropies, episode->entropies);
    append(row.ref_logprobs, episode->ref_logprobs);
    append(row.behaviour_logprobs, episode->behaviour_logprobs);
    episode->terminated = row.terminated;
    if (!form_.has_turns) return absl::OkStatus();
    TurnRecord& turn = completion.turn_K.emplace_back();
    turn.observation_tokens = static_cast<int64_t>(row.observation.size());
    turn.action_tokens = static_cast<int64_t>(size);
    turn.complete = row.terminated;
    RETURN_IF_ERROR(ReadReply(row.place, &turn));
    if (form_.counts_tool_calls) RETURN_IF_ERROR(ReadToolCall(row.place, &turn));
    return form_.checks_actions && is_training_ ? ReadCheck(row.place, &turn) : absl::OkStatus();
  }

  absl::Status ReadReply(const Place& place, TurnRecord* turn) {
    Place found;
    bool answered = false;
    Reply reply;
    if (replies_.has_row()) ReplyColumns(replies_, found, answered, reply);
    if (found != place) return turns_.Broken("its reply is missing");
    RETURN_IF_ERROR(replies_.status());
    if (!IsWithinBounds(reply.reward)) return replies_.Broken(kNoReward);
    if (!answered && reply != Reply()) return replies_.Broken("it has content although the turn is not answered");
    if (answered) turn->reply = reply;
    replies_.Next();
    return absl::OkStatus();
  }

  absl::Status ReadToolCall(const Place& place, TurnRecord* turn) {
    Place found;
    ToolCall call = ToolCall::kNone;
    if (calls_.has_row()) CallColumns(calls_, found, call);
    if (found != place) return turns_.Broken("its row of tool_calls is missing");
    if (call > ToolCall::kRefused || (call != ToolCall::kNone && !turn->reply)) {
      return calls_.Broken("its call is not a known value");
    }
    if (turn->reply) turn->reply->tool_call = call;
    calls_.Next();
    return absl::OkStatus();
  }

  absl::Status ReadCheck(const Place& place, TurnRecord* turn) {
    Place found;
    ActionCheck& check = turn->check.emplace();
    if (actions_.has_row()) CheckColumns(actions_, found, check);
    if (found != place) return turns_.Broken("its row of actions is missing");
    RETURN_IF_ERROR(actions_.status());
    if (check.method > MaskMethod::kFailed) return actions_.Broken("its method is not a known value");
    if (check.learned_begin < 0 || check.learned_end < check.learned_begin || turn->action_tokens < check.learned_end) {
      return actions_.Broken("its learned tokens are not within the action's tokens");
    }
    actions_.Next();
    return absl::OkStatus();
  }

  const RecordForm form_;
  const bool is_training_;
  RowReader tasks_, turns_, episodes_, replies_, actions_, calls_, evaluations_;
};

}  // namespace

std::vector<StreamTable> CompletionTables(const StepRecord& record, RecordForm form) {
  return Writer(record, form, EmptyTables(CompletionStreams(form))).Write();
}

StepTables ToTables(const StepRecord& record, RecordForm form) {
  StepTables step = {record.phase, record.step, CompletionTables(record, form)};
  for (StreamTable& results : ResultTables(record, /*has_counts=*/true)) step.tables.push_back(std::move(results));
  return step;
}

absl::StatusOr<StepRecord> FromTables(const StepTables& step, RecordForm form) {
  StepRecord record;
  static_cast<StepResults&>(record) = ReadResults(step);
  RETURN_IF_ERROR(Reader(step, form).Read(&record));
  return record;
}

std::vector<std::string> ListPrompts(const StepTables& step) {
  std::vector<std::string> prompts;
  for (RowReader row(step.Find("tasks")); row.has_row(); row.Next()) {
    TaskRecord task;
    TaskColumns(row, task);
    prompts.push_back(std::move(CompletionOf(task).text));
  }
  return prompts;
}

}  // namespace reprise::rl
