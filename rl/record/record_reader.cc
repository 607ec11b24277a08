// Reads the steps of a run from its streams.

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "rl/record/record_columns.h"
#include "rl/record/record_streams.h"
#include "rl/record/record_turns.h"

namespace reprise::rl::records {
namespace {

constexpr absl::string_view kNoReward =
    "its reward is out of bounds: rewards are finite, at most 1e18, and not subnormal";

// Reads the streams side by side, step by step. Every step has exactly one row of `routing`, which determines the
// steps.
class Reader {
 public:
  Reader(absl::Span<const StreamTable> tables, RecordForm form) : form_(form) {
    for (StreamSchema& schema : AllSchemas(form)) absent_.emplace_back(std::move(schema));
    next_.resize(absent_.size(), 0);
    auto present = tables.begin();
    for (size_t stream = 0; stream < absent_.size(); ++stream) {
      tables_.push_back(HasStream(form, stream) ? &*present++ : &absent_[stream]);
    }
  }

  absl::StatusOr<std::vector<StepRecord>> Read() {
    std::vector<StepRecord> records;
    for (int64_t row = 0; row < tables_[kRouting]->rows(); ++row) {
      ASSIGN_OR_RETURN(StepRecord record, ReadStep(row));
      records.push_back(std::move(record));
    }
    for (size_t stream = 0; stream < tables_.size(); ++stream) {
      if (next_[stream] != tables_[stream]->rows()) return Broken(static_cast<Stream>(stream), "belongs to no step");
    }
    return records;
  }

 private:
  absl::Status Broken(Stream stream, absl::string_view what) const {
    return absl::DataLossError(
        absl::StrCat("stream ", tables_[stream]->schema().name, ", row ", next_[stream], ": ", what));
  }

  // Returns whether the stream's next row belongs to this step.
  bool HasRow(Stream stream, const StepRecord& record) const {
    const StreamTable& table = *tables_[stream];
    const int64_t row = next_[stream];
    return row < table.rows() && table.Row<uint8_t>(kPhase, row)[0] == static_cast<uint8_t>(record.phase) &&
           table.Row<int64_t>(kStep, row)[0] == record.step;
  }

  template <typename T>
  T Scalar(Stream stream, int column) const {
    return tables_[stream]->Row<T>(column, next_[stream])[0];
  }
  template <typename T>
  std::vector<T> Array(Stream stream, int column) const {
    const absl::Span<const T> row = tables_[stream]->Row<T>(column, next_[stream]);
    return {row.begin(), row.end()};
  }

  absl::StatusOr<StepRecord> ReadStep(int64_t row) {
    StepRecord record;
    const uint8_t phase = tables_[kRouting]->Row<uint8_t>(kPhase, row)[0];
    if (phase > 1) return Broken(kRouting, "unknown phase");
    record.phase = static_cast<Phase>(phase);
    record.step = tables_[kRouting]->Row<int64_t>(kStep, row)[0];
    record.expert_count_E = Array<int64_t>(kRouting, kRoutingCounts);
    ++next_[kRouting];
    for (; HasRow(kTasks, record); ++next_[kTasks]) {
      record.task_P.push_back(
          {Scalar<int64_t>(kTasks, kTaskPrompt), std::string(tables_[kTasks]->String(kTaskText, next_[kTasks])),
           std::string(tables_[kTasks]->String(kTaskAnswer, next_[kTasks])), Array<int32_t>(kTasks, kTaskTokens)});
    }
    while (HasRow(kTurns, record)) RETURN_IF_ERROR(ReadEpisode(&record));
    for (; HasRow(kMetrics, record); ++next_[kMetrics]) {
      record.metrics.emplace_back(tables_[kMetrics]->String(kMetricName, next_[kMetrics]),
                                  Scalar<double>(kMetrics, kMetricValue));
    }
    for (; HasRow(kDigests, record); ++next_[kDigests]) {
      const uint8_t kind = Scalar<uint8_t>(kDigests, kDigestKind);
      if (kind > kWeights) return Broken(kDigests, "its kind is neither a gradient (0) nor weights (1)");
      const bool gradient = kind == kGradient;
      if (gradient && !record.weight_digests.empty()) return Broken(kDigests, "a gradient follows weights");
      std::vector<Digest>& digests = gradient ? record.gradient_digests : record.weight_digests;
      if (Scalar<int32_t>(kDigests, kDigestTensor) != static_cast<int32_t>(digests.size())) {
        return Broken(kDigests, "its tensor is out of order");
      }
      digests.push_back(tables_[kDigests]->DigestAt(kDigestSha256, next_[kDigests]));
    }
    while (HasRow(kEvaluationReplies, record)) RETURN_IF_ERROR(ReadEvaluationReply(&record));
    return record;
  }

  absl::Status ReadEvaluationReply(StepRecord* record) {
    for (const int column : {kEvaluationOnStart, kEvaluationGreedy, kEvaluationDone, kEvaluationTruncated}) {
      if (Scalar<uint8_t>(kEvaluationReplies, column) > 1) {
        return Broken(kEvaluationReplies, "one of its flags is neither 0 nor 1");
      }
    }
    const auto flag = [&](int column) { return Scalar<uint8_t>(kEvaluationReplies, column) != 0; };
    const auto number = [&](int column) { return Scalar<int64_t>(kEvaluationReplies, column); };
    record->evaluation_replies.push_back(
        {.on_start = flag(kEvaluationOnStart),
         .greedy = flag(kEvaluationGreedy),
         .prompt = number(kEvaluationPrompt),
         .sample = number(kEvaluationSample),
         .turn = number(kEvaluationTurn),
         .reply = {.observation = std::string(
                       tables_[kEvaluationReplies]->String(kEvaluationObservation, next_[kEvaluationReplies])),
                   .reward = Scalar<double>(kEvaluationReplies, kEvaluationReward),
                   .done = flag(kEvaluationDone),
                   .truncated = flag(kEvaluationTruncated),
                   .tool_call = static_cast<ToolCall>(Scalar<uint8_t>(kEvaluationReplies, kEvaluationToolCall))},
         .asked = tables_[kEvaluationReplies]->DigestAt(kEvaluationAsked, next_[kEvaluationReplies])});
    if (Scalar<uint8_t>(kEvaluationReplies, kEvaluationToolCall) > static_cast<uint8_t>(ToolCall::kRefused)) {
      return Broken(kEvaluationReplies, "its tool_call is not a known value");
    }
    const EvaluationReply& said = record->evaluation_replies.back();
    const bool is_null = said.turn == EvaluationReply::kScore && std::isnan(said.reply.reward);
    if (!is_null && !IsWithinBounds(said.reply.reward)) return Broken(kEvaluationReplies, kNoReward);
    ++next_[kEvaluationReplies];
    return absl::OkStatus();
  }

  // Reads the episode's row and all rows of its turns.
  absl::Status ReadEpisode(StepRecord* record) {
    EpisodeRecord episode;
    episode.prompt = Scalar<int64_t>(kTurns, kTurnPrompt);
    episode.sample = Scalar<int64_t>(kTurns, kTurnSample);
    if (!HasRow(kEpisodes, *record) || Scalar<int64_t>(kEpisodes, kEpisodePrompt) != episode.prompt ||
        Scalar<int64_t>(kEpisodes, kEpisodeSample) != episode.sample) {
      return Broken(kTurns, "its episode is missing");
    }
    episode.rewards_F = Array<double>(kEpisodes, kEpisodeRewards);
    episode.reward = Scalar<double>(kEpisodes, kEpisodeReward);
    episode.advantage = Scalar<double>(kEpisodes, kEpisodeAdvantage);
    ++next_[kEpisodes];
    do {
      RETURN_IF_ERROR(ReadTurn(*record, &episode));
      ++next_[kTurns];
    } while (form_.has_turns && HasRow(kTurns, *record) && IsOf(kTurns, kTurnPrompt, episode));
    if (form_.has_turns) episode.terminated = EndedByEnvironment(episode);
    episode.decisions = DecisionsOf(episode);
    record->episode_N.push_back(std::move(episode));
    return absl::OkStatus();
  }

  // Returns whether the stream's next row names this episode: prompt and sample are adjacent columns.
  bool IsOf(Stream stream, int prompt_column, const EpisodeRecord& episode) const {
    return Scalar<int64_t>(stream, prompt_column) == episode.prompt &&
           Scalar<int64_t>(stream, prompt_column + 1) == episode.sample;
  }

  // Columns that are not compared with computed ones must hold what AppendTurn writes.
  absl::Status ReadTurn(const StepRecord& record, EpisodeRecord* episode) {
    const int64_t index = static_cast<int64_t>(episode->turn_K.size());
    const std::vector<int32_t> observation = Array<int32_t>(kTurns, kTurnObservation);
    const std::vector<int32_t> tokens = Array<int32_t>(kTurns, kTurnTokens);
    const std::vector<float> logprobs = Array<float>(kTurns, kTurnLogprobs);
    const std::vector<float> ref_logprobs = Array<float>(kTurns, kTurnRefLogprobs);
    if (Scalar<int64_t>(kTurns, kTurnTurn) != index) {
      return Broken(kTurns,
                    form_.has_turns ? "its turn is out of order" : "its turn is not 0, the only turn of an episode");
    }
    if (index == 0 && !observation.empty()) {
      return Broken(kTurns, "it has an observation, but the first turn of an episode observes only its task");
    }
    if (Scalar<uint8_t>(kTurns, kTurnTerminated) > 1) return Broken(kTurns, "its terminated is neither 0 nor 1");
    if (tokens.empty() || tokens.size() != logprobs.size()) {
      return Broken(kTurns, "it has no tokens, or a different number of log-probabilities");
    }
    if (!ref_logprobs.empty() && ref_logprobs.size() != tokens.size()) {
      return Broken(kTurns, "its number of log-probabilities by the reference differs from that of its tokens");
    }
    if (index > 0 && ref_logprobs.empty() != episode->ref_logprobs.empty()) {
      return Broken(kTurns, "only one of it and the turn before it has log-probabilities by the reference");
    }
    std::vector<float> behaviour_logprobs;
    if (form_.has_behaviour) behaviour_logprobs = Array<float>(kTurns, kTurnBehaviourLogprobs);
    const bool is_drawn = form_.has_behaviour && record.phase == Phase::kTraining;
    if (behaviour_logprobs.size() != (is_drawn ? tokens.size() : 0)) {
      return Broken(kTurns,
                    "its number of log-probabilities under the behaviour differs from that of its drawn tokens");
    }
    // A replay could compute the same impossible value, so that a comparison would not find it.
    const auto is_possible = [](float logprob) { return std::isfinite(logprob) && logprob <= 0; };
    if (!std::all_of(behaviour_logprobs.begin(), behaviour_logprobs.end(), is_possible)) {
      return Broken(kTurns, "a log-probability under the behaviour is impossible for a drawn token");
    }
    const auto append = [&](const auto& values, auto& to) {
      if (!values.empty()) to.insert(to.end(), observation.size(), 0);
      to.insert(to.end(), values.begin(), values.end());
    };
    episode->tokens.insert(episode->tokens.end(), observation.begin(), observation.end());
    episode->tokens.insert(episode->tokens.end(), tokens.begin(), tokens.end());
    append(logprobs, episode->logprobs);
    append(ref_logprobs, episode->ref_logprobs);
    append(behaviour_logprobs, episode->behaviour_logprobs);
    episode->terminated = Scalar<uint8_t>(kTurns, kTurnTerminated) != 0;
    if (!form_.has_turns) return absl::OkStatus();
    TurnRecord turn = {.observation_tokens = static_cast<int64_t>(observation.size()),
                       .action_tokens = static_cast<int64_t>(tokens.size()),
                       .complete = episode->terminated,
                       .reply = std::nullopt};
    RETURN_IF_ERROR(ReadReply(record, *episode, index, &turn));
    RETURN_IF_ERROR(ReadToolCall(record, *episode, index, &turn));
    RETURN_IF_ERROR(ReadCheck(record, *episode, index, &turn));
    episode->turn_K.push_back(std::move(turn));
    return absl::OkStatus();
  }

  absl::Status ReadReply(const StepRecord& record, const EpisodeRecord& episode, int64_t index, TurnRecord* turn) {
    if (!HasRow(kReplies, record) || !IsOf(kReplies, kReplyPrompt, episode) ||
        Scalar<int64_t>(kReplies, kReplyTurn) != index) {
      return Broken(kTurns, "its reply is missing");
    }
    for (const int column : {kReplyAnswered, kReplyDone, kReplyTruncated}) {
      if (Scalar<uint8_t>(kReplies, column) > 1) return Broken(kReplies, "one of its flags is neither 0 nor 1");
    }
    const Reply reply = {.observation = std::string(tables_[kReplies]->String(kReplyObservation, next_[kReplies])),
                         .reward = Scalar<double>(kReplies, kReplyReward),
                         .done = Scalar<uint8_t>(kReplies, kReplyDone) != 0,
                         .truncated = Scalar<uint8_t>(kReplies, kReplyTruncated) != 0};
    if (!IsWithinBounds(reply.reward)) return Broken(kReplies, kNoReward);
    if (Scalar<uint8_t>(kReplies, kReplyAnswered) != 0) {
      turn->reply = reply;
    } else if (reply != Reply()) {
      return Broken(kReplies, "it has content although the turn is not answered");
    }
    ++next_[kReplies];
    return absl::OkStatus();
  }

  absl::Status ReadToolCall(const StepRecord& record, const EpisodeRecord& episode, int64_t index, TurnRecord* turn) {
    if (!form_.counts_tool_calls) return absl::OkStatus();
    if (!HasRow(kToolCalls, record) || !IsOf(kToolCalls, kCallPrompt, episode) ||
        Scalar<int64_t>(kToolCalls, kCallTurn) != index) {
      return Broken(kTurns, "its row of tool_calls is missing");
    }
    const uint8_t call = Scalar<uint8_t>(kToolCalls, kCallCall);
    if (call > static_cast<uint8_t>(ToolCall::kRefused) || (call != 0 && !turn->reply)) {
      return Broken(kToolCalls, "its call is not a known value");
    }
    if (turn->reply) turn->reply->tool_call = static_cast<ToolCall>(call);
    ++next_[kToolCalls];
    return absl::OkStatus();
  }

  // Reads the check of a training turn, where actions are checked.
  absl::Status ReadCheck(const StepRecord& record, const EpisodeRecord& episode, int64_t index, TurnRecord* turn) {
    if (!form_.checks_actions || record.phase != Phase::kTraining) return absl::OkStatus();
    if (!HasRow(kActions, record) || !IsOf(kActions, kActionPrompt, episode) ||
        Scalar<int64_t>(kActions, kActionTurn) != index) {
      return Broken(kTurns, "its row of actions is missing");
    }
    const uint8_t method = Scalar<uint8_t>(kActions, kActionMethod), valid = Scalar<uint8_t>(kActions, kActionValid);
    const ActionCheck check = {.method = static_cast<MaskMethod>(method),
                               .valid = valid != 0,
                               .learned_begin = Scalar<int64_t>(kActions, kActionLearnedBegin),
                               .learned_end = Scalar<int64_t>(kActions, kActionLearnedEnd)};
    if (method > static_cast<uint8_t>(MaskMethod::kFailed) || valid > 1) {
      return Broken(kActions, "its method or its valid is not a known value");
    }
    if (check.learned_begin < 0 || check.learned_end < check.learned_begin || turn->action_tokens < check.learned_end) {
      return Broken(kActions, "its learned tokens are not within the action's tokens");
    }
    turn->check = check;
    ++next_[kActions];
    return absl::OkStatus();
  }

  const RecordForm form_;
  std::vector<StreamTable> absent_;         // by stream; used, empty, for the streams that the form does not have
  std::vector<const StreamTable*> tables_;  // by stream
  std::vector<int64_t> next_;               // next row of each
};

absl::StatusOr<std::vector<StepRecord>> Read(absl::Span<const StreamTable> tables, RecordForm form) {
  return Reader(tables, form).Read();
}

}  // namespace
}  // namespace reprise::rl::records

namespace reprise::rl {

absl::StatusOr<std::vector<StepRecord>> FromTables(absl::Span<const StreamTable> tables, RecordForm form) {
  return records::Read(tables, form);
}

}  // namespace reprise::rl
