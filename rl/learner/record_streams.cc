#include "rl/learner/record_streams.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

// Streams, in the order of RecordSchemas.
enum Stream { kTasks, kTurns, kEpisodes, kRouting, kMetrics, kDigests };

// Every stream's first columns.
enum CommonColumn { kPhase, kStep, kFirstOwn };

enum TaskColumn { kTaskPrompt = kFirstOwn, kTaskText, kTaskAnswer, kTaskTokens };
enum TurnColumn {
  kTurnPrompt = kFirstOwn,
  kTurnSample,
  kTurnTurn,
  kTurnObservation,
  kTurnTokens,
  kTurnLogprobs,
  kTurnRefLogprobs,
  kTurnTerminated
};
enum EpisodeColumn { kEpisodePrompt = kFirstOwn, kEpisodeSample, kEpisodeRewards, kEpisodeReward, kEpisodeAdvantage };
enum RoutingColumn { kRoutingCounts = kFirstOwn };
enum MetricColumn { kMetricName = kFirstOwn, kMetricValue };
enum DigestColumn { kDigestKind = kFirstOwn, kDigestTensor, kDigestSha256 };

// Stored in artifacts: do not change the values.
enum DigestKind : uint8_t { kGradient = 0, kWeights = 1 };

StreamSchema Schema(absl::string_view name, std::vector<ColumnSchema> own) {
  StreamSchema schema;
  schema.name = std::string(name);
  schema.columns = {ScalarColumn("phase", DType::kU8), ScalarColumn("step", DType::kI64)};
  for (ColumnSchema& column : own) schema.columns.push_back(std::move(column));
  return schema;
}

void StartRow(const StepRecord& record, StreamTable& table) {
  table.AppendU8(kPhase, static_cast<uint8_t>(record.phase));
  table.AppendI64(kStep, record.step);
}

void AppendTasks(const StepRecord& record, StreamTable& table) {
  for (const TaskRecord& task : record.task_P) {
    StartRow(record, table);
    table.AppendI64(kTaskPrompt, task.prompt);
    table.AppendString(kTaskText, task.text);
    table.AppendString(kTaskAnswer, task.answer);
    table.AppendRaggedI32(kTaskTokens, task.tokens);
  }
}

// An episode of one turn observes nothing but its task.
void AppendEpisodes(const StepRecord& record, StreamTable& turns, StreamTable& episodes) {
  for (const EpisodeRecord& episode : record.episode_N) {
    StartRow(record, turns);
    turns.AppendI64(kTurnPrompt, episode.prompt);
    turns.AppendI64(kTurnSample, episode.sample);
    turns.AppendI64(kTurnTurn, 0);
    turns.AppendRaggedI32(kTurnObservation, {});
    turns.AppendRaggedI32(kTurnTokens, episode.tokens);
    turns.AppendRaggedF32(kTurnLogprobs, episode.logprobs);
    turns.AppendRaggedF32(kTurnRefLogprobs, episode.ref_logprobs);
    turns.AppendU8(kTurnTerminated, episode.terminated ? 1 : 0);
    StartRow(record, episodes);
    episodes.AppendI64(kEpisodePrompt, episode.prompt);
    episodes.AppendI64(kEpisodeSample, episode.sample);
    episodes.AppendRaggedF64(kEpisodeRewards, episode.rewards_F);
    episodes.AppendF64(kEpisodeReward, episode.reward);
    episodes.AppendF64(kEpisodeAdvantage, episode.advantage);
  }
}

void AppendDigests(const StepRecord& record, DigestKind kind, const std::vector<Digest>& digests, StreamTable& table) {
  for (size_t tensor = 0; tensor < digests.size(); ++tensor) {
    StartRow(record, table);
    table.AppendU8(kDigestKind, kind);
    table.AppendI32(kDigestTensor, static_cast<int32_t>(tensor));
    table.AppendDigest(kDigestSha256, digests[tensor]);
  }
}

// Reads the streams side by side, step by step. Every step has exactly one row of `routing`, which leads.
class Reader {
 public:
  explicit Reader(absl::Span<const StreamTable> tables) : tables_(tables), next_(tables.size(), 0) {}

  absl::StatusOr<std::vector<StepRecord>> Read() {
    std::vector<StepRecord> records;
    for (int64_t row = 0; row < tables_[kRouting].rows(); ++row) {
      ASSIGN_OR_RETURN(StepRecord record, ReadStep(row));
      records.push_back(std::move(record));
    }
    for (size_t stream = 0; stream < tables_.size(); ++stream) {
      if (next_[stream] != tables_[stream].rows()) return Broken(static_cast<Stream>(stream), "belongs to no step");
    }
    return records;
  }

 private:
  absl::Status Broken(Stream stream, absl::string_view what) const {
    return absl::DataLossError(
        absl::StrCat("stream ", tables_[stream].schema().name, ", row ", next_[stream], ": ", what));
  }

  // Whether the stream's next row is of this step.
  bool HasRow(Stream stream, const StepRecord& record) const {
    const StreamTable& table = tables_[stream];
    const int64_t row = next_[stream];
    return row < table.rows() && table.Row<uint8_t>(kPhase, row)[0] == static_cast<uint8_t>(record.phase) &&
           table.Row<int64_t>(kStep, row)[0] == record.step;
  }

  template <typename T>
  T Scalar(Stream stream, int column) const {
    return tables_[stream].Row<T>(column, next_[stream])[0];
  }
  template <typename T>
  std::vector<T> Array(Stream stream, int column) const {
    const absl::Span<const T> row = tables_[stream].Row<T>(column, next_[stream]);
    return {row.begin(), row.end()};
  }

  absl::StatusOr<StepRecord> ReadStep(int64_t row) {
    StepRecord record;
    const uint8_t phase = tables_[kRouting].Row<uint8_t>(kPhase, row)[0];
    if (phase > 1) return Broken(kRouting, "unknown phase");
    record.phase = static_cast<Phase>(phase);
    record.step = tables_[kRouting].Row<int64_t>(kStep, row)[0];
    record.expert_count_E = Array<int64_t>(kRouting, kRoutingCounts);
    ++next_[kRouting];
    for (; HasRow(kTasks, record); ++next_[kTasks]) {
      record.task_P.push_back(
          {Scalar<int64_t>(kTasks, kTaskPrompt), std::string(tables_[kTasks].String(kTaskText, next_[kTasks])),
           std::string(tables_[kTasks].String(kTaskAnswer, next_[kTasks])), Array<int32_t>(kTasks, kTaskTokens)});
    }
    for (; HasRow(kTurns, record); ++next_[kTurns], ++next_[kEpisodes]) {
      RETURN_IF_ERROR(ReadEpisode(&record));
    }
    for (; HasRow(kMetrics, record); ++next_[kMetrics]) {
      record.metrics.emplace_back(tables_[kMetrics].String(kMetricName, next_[kMetrics]),
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
      digests.push_back(tables_[kDigests].DigestAt(kDigestSha256, next_[kDigests]));
    }
    return record;
  }

  absl::Status ReadEpisode(StepRecord* record) {
    EpisodeRecord episode;
    episode.prompt = Scalar<int64_t>(kTurns, kTurnPrompt);
    episode.sample = Scalar<int64_t>(kTurns, kTurnSample);
    if (!HasRow(kEpisodes, *record) || Scalar<int64_t>(kEpisodes, kEpisodePrompt) != episode.prompt ||
        Scalar<int64_t>(kEpisodes, kEpisodeSample) != episode.sample) {
      return Broken(kTurns, "its episode is missing");
    }
    // What nothing that is computed is compared with must be what AppendEpisodes writes.
    if (Scalar<int64_t>(kTurns, kTurnTurn) != 0) return Broken(kTurns, "its turn is not 0, the only one of an episode");
    if (!Array<int32_t>(kTurns, kTurnObservation).empty()) {
      return Broken(kTurns, "it has an observation; the only turn of an episode observes nothing but its task");
    }
    if (Scalar<uint8_t>(kTurns, kTurnTerminated) > 1) return Broken(kTurns, "its terminated is neither 0 nor 1");
    episode.tokens = Array<int32_t>(kTurns, kTurnTokens);
    episode.logprobs = Array<float>(kTurns, kTurnLogprobs);
    if (episode.tokens.empty() || episode.tokens.size() != episode.logprobs.size()) {
      return Broken(kTurns, "it has no tokens, or another number of log-probabilities");
    }
    episode.ref_logprobs = Array<float>(kTurns, kTurnRefLogprobs);
    if (!episode.ref_logprobs.empty() && episode.ref_logprobs.size() != episode.tokens.size()) {
      return Broken(kTurns, "it has another number of log-probabilities by the reference than tokens");
    }
    episode.terminated = Scalar<uint8_t>(kTurns, kTurnTerminated) != 0;
    episode.rewards_F = Array<double>(kEpisodes, kEpisodeRewards);
    episode.reward = Scalar<double>(kEpisodes, kEpisodeReward);
    episode.advantage = Scalar<double>(kEpisodes, kEpisodeAdvantage);
    record->episode_N.push_back(std::move(episode));
    return absl::OkStatus();
  }

  const absl::Span<const StreamTable> tables_;
  std::vector<int64_t> next_;  // row of each stream
};

}  // namespace

std::vector<StreamSchema> RecordSchemas() {
  const auto i64 = [](absl::string_view name) { return ScalarColumn(name, DType::kI64); };
  const auto f64 = [](absl::string_view name) { return ScalarColumn(name, DType::kF64); };
  const auto tokens = [](absl::string_view name) { return RaggedColumn(name, DType::kI32); };
  return {
      Schema("tasks", {i64("prompt"), StringColumn("text"), StringColumn("answer"), tokens("tokens")}),
      Schema("turns", {i64("prompt"), i64("sample"), i64("turn"), tokens("observation"), tokens("tokens"),
                       RaggedColumn("logprobs", DType::kF32), RaggedColumn("ref_logprobs", DType::kF32),
                       ScalarColumn("terminated", DType::kU8)}),
      Schema("episodes",
             {i64("prompt"), i64("sample"), RaggedColumn("rewards", DType::kF64), f64("reward"), f64("advantage")}),
      Schema("routing", {RaggedColumn("expert_counts", DType::kI64)}),
      Schema("metrics", {StringColumn("name"), f64("value")}),
      Schema("digests", {ScalarColumn("kind", DType::kU8), ScalarColumn("tensor", DType::kI32),
                         FixedColumn("sha256", DType::kU8, 32)}),
  };
}

std::vector<StreamTable> ToTables(const StepRecord& record) {
  std::vector<StreamTable> tables;
  for (StreamSchema& schema : RecordSchemas()) tables.emplace_back(std::move(schema));
  AppendTasks(record, tables[kTasks]);
  AppendEpisodes(record, tables[kTurns], tables[kEpisodes]);
  StartRow(record, tables[kRouting]);
  tables[kRouting].AppendRaggedI64(kRoutingCounts, record.expert_count_E);
  for (const auto& [name, value] : record.metrics) {
    StartRow(record, tables[kMetrics]);
    tables[kMetrics].AppendString(kMetricName, name);
    tables[kMetrics].AppendF64(kMetricValue, value);
  }
  AppendDigests(record, kGradient, record.gradient_digests, tables[kDigests]);
  AppendDigests(record, kWeights, record.weight_digests, tables[kDigests]);
  return tables;
}

absl::StatusOr<std::vector<StepRecord>> FromTables(absl::Span<const StreamTable> tables) {
  return Reader(tables).Read();
}

}  // namespace reprise::rl
