#include "tests/tamper/edits.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_replace.h"
#include "core/status/check.h"
#include "data/tables/table.h"
#include "tests/tamper/copy_run.h"
#include "tests/tamper/streams.h"

namespace reprise::testing {
namespace {

using Streams = std::map<std::string, StreamTable>;
using EditStreams = std::function<void(Streams& streams)>;

// Returns an edit of one row of a stream at the edited step.
EditStreams AtRow(const std::string& stream, const std::function<void(StreamTable& table, int64_t row)>& edit) {
  return [stream, edit](Streams& streams) {
    StreamTable& table = streams.at(stream);
    edit(table, RowsOfStep(table, kEditedStep)[1]);
  };
}

// Returns an edit of the first completion of at least three tokens.
EditStreams AtCompletion(const std::function<void(StreamTable& turns, int64_t row)>& edit) {
  return [edit](Streams& streams) {
    StreamTable& turns = streams.at("turns");
    for (int64_t row : RowsOfStep(turns, kEditedStep)) {
      if (turns.Row<int32_t>(ColumnIndex(turns, "tokens"), row).size() >= 3) return edit(turns, row);
    }
    CHECK(!"a completion of three tokens");
  };
}

// Returns an edit of the first digest of a gradient (0) or of weights (1).
EditStreams AtDigest(uint8_t kind) {
  return [kind](Streams& streams) {
    StreamTable& digests = streams.at("digests");
    for (int64_t row : RowsOfStep(digests, kEditedStep)) {
      if (digests.Row<uint8_t>(ColumnIndex(digests, "kind"), row)[0] != kind) continue;
      MutableRow<uint8_t>(digests, "sha256", row)[31] ^= 1;
      return;
    }
    CHECK(!"a digest of this kind");
  };
}

EditStreams FlipLastBit(const std::string& stream, const std::string& column) {
  return AtRow(stream, [column](StreamTable& table, int64_t row) {
    const absl::Span<double> value = MutableRow<double>(table, column, row);
    reinterpret_cast<uint8_t*>(value.data())[0] ^= 1;
  });
}

EditStreams SetToken(int32_t token) {
  return AtCompletion(
      [token](StreamTable& turns, int64_t row) { MutableRow<int32_t>(turns, "tokens", row)[1] = token; });
}

void OtherToken(StreamTable& turns, int64_t row) {
  int32_t& token = MutableRow<int32_t>(turns, "tokens", row)[1];
  token = token == int32_t{'a'} ? int32_t{'b'} : int32_t{'a'};
}

void OtherEnd(StreamTable& turns, int64_t row) { MutableRow<uint8_t>(turns, "terminated", row)[0] ^= 1; }

void OtherLogprob(StreamTable& turns, int64_t row) {
  reinterpret_cast<uint8_t*>(MutableRow<float>(turns, "logprobs", row).data())[0] ^= 1;
}

void OtherEntropy(StreamTable& turns, int64_t row) {
  reinterpret_cast<uint8_t*>(MutableRow<float>(turns, "entropies", row).data())[0] ^= 1;
}

void OtherAnswer(StreamTable& tasks, int64_t row) {
  uint8_t& letter = MutableRow<uint8_t>(tasks, "answer", row)[0];
  letter = letter == 'a' ? 'b' : 'a';
}

void OtherRouting(StreamTable& routing, int64_t row) {
  const absl::Span<int64_t> counts = MutableRow<int64_t>(routing, "expert_counts", row);
  ++counts[0], --counts[1];
}

void LongerThanAnyPosition(StreamTable& turns, int64_t row) {
  ReplaceRow(turns, "tokens", row, std::vector<int32_t>(5000, 'a'));
  ReplaceRow(turns, "logprobs", row, std::vector<float>(5000, -1.0f));
  ReplaceRow(turns, "entropies", row, std::vector<float>(5000, 1.0f));
}

// Returns an edit that gives both streams the same index, which no prompt or sample has.
EditStreams SetIndex(const std::string& column, int64_t index) {
  return [column, index](Streams& streams) {
    for (const char* stream : {"turns", "episodes"}) {
      StreamTable& table = streams.at(stream);
      MutableRow<int64_t>(table, column, RowsOfStep(table, kEditedStep)[1])[0] = index;
    }
  };
}

// Removes the step's rows for which `drop` returns true, given the row's index within the step.
void DropRows(StreamTable& table, const std::function<bool(int64_t place)>& drop) {
  const std::vector<int64_t> rows = RowsOfStep(table, kEditedStep);
  std::set<int64_t> dropped;
  for (size_t place = 0; place < rows.size(); ++place) {
    if (drop(static_cast<int64_t>(place))) dropped.insert(rows[place]);
  }
  KeepRows(table, [&](int64_t row) { return !dropped.contains(row); });
}

EditStreams DropEpisodes(const std::function<bool(int64_t place)>& drop) {
  return [drop](Streams& streams) {
    DropRows(streams.at("turns"), drop);
    DropRows(streams.at("episodes"), drop);
  };
}

void DropDigests(Streams& streams) {
  DropRows(streams.at("digests"), [](int64_t) { return true; });
}

// Returns an edit that changes the step's first executed tool call to none (0) or refused (2).
EditStreams SetToolCall(uint8_t to) {
  return [to](Streams& streams) {
    StreamTable& calls = streams.at("tool_calls");
    for (int64_t row : RowsOfStep(calls, kEditedStep)) {
      uint8_t& call = MutableRow<uint8_t>(calls, "call", row)[0];
      if (call != 1) continue;
      call = to;
      return;
    }
    CHECK(!"a tool call");
  };
}

EditStreams AddToReward(const std::string& stream) {
  return AtRow(stream, [](StreamTable& table, int64_t row) { MutableRow<double>(table, "reward", row)[0] += 1; });
}

using Apply = decltype(Edit::apply);

Apply Copy(const CopyEdits& edits) {
  return [edits](absl::string_view run_file) { return CopyRun(run_file, edits); };
}

// small.toml stores a checkpoint after training step kEditedStep, which follows two steps of SFT.
constexpr int64_t kCheckpointStep = 2 + kEditedStep;

// Applies an edit to the edited step only.
Apply EditStep(const EditStreams& edit) {
  return Copy({.steps = [edit](std::vector<StoredStep>& steps) {
    const auto step =
        std::find_if(steps.begin(), steps.end(), [](const StoredStep& each) { return each.number == kCheckpointStep; });
    CHECK(step != steps.end());
    Streams streams;
    for (StreamTable& table : step->tables) streams.emplace(table.schema().name, std::move(table));
    edit(streams);
    step->tables.clear();
    for (auto& [name, table] : streams) step->tables.push_back(std::move(table));
  }});
}

Apply FlipCheckpointBit(const std::string& edited_group) {
  return Copy({.checkpoint = [edited_group](int64_t step, absl::string_view group, auto& tensors) {
    if (step == kCheckpointStep && group == edited_group) {
      tensors[3].mutable_bytes()[0] ^= std::byte{1};
    }
    return true;
  }});
}

Apply CorruptCheckpoint(float value) {
  return Copy({.checkpoint = [value](int64_t step, absl::string_view group, auto& tensors) {
    if (step == kCheckpointStep && group == "weights") {
      tensors[3].template mutable_data<float>()[1] = value;
    }
    return true;
  }});
}

Apply DropCheckpoint() {
  return Copy({.checkpoint = [](int64_t step, absl::string_view, auto&) { return step != kCheckpointStep; }});
}

Apply SetConfiguration(const std::string& before, const std::string& after) {
  return Copy({.header = [before, after](RunHeader& header) {
    CHECK_EQ(absl::StrReplaceAll({{before, after}}, &header.config_text), 1);
  }});
}

}  // namespace

std::vector<Edit> PlausibleEdits() {
  return {
      {"answer", EditStep(AtRow("tasks", OtherAnswer)), "tasks", "tasks"},
      {"token", EditStep(AtCompletion(OtherToken)), "logprobs", "tokens"},
      {"terminated", EditStep(AtCompletion(OtherEnd)), "tokens", "tokens"},
      {"logprob", EditStep(AtCompletion(OtherLogprob)), "logprobs", "logprobs"},
      {"entropy", EditStep(AtCompletion(OtherEntropy)), "logprobs", "logprobs"},
      {"routing",
       EditStep([](Streams& s) { OtherRouting(s.at("routing"), RowsOfStep(s.at("routing"), kEditedStep)[0]); }),
       "routing", "routing"},
      {"reward", EditStep(FlipLastBit("episodes", "reward")), "rewards", "rewards"},
      {"reward_of_function", EditStep(FlipLastBit("episodes", "rewards")), "rewards", "rewards"},
      {"advantage", EditStep(FlipLastBit("episodes", "advantage")), "advantages", "advantages"},
      {"gradient", EditStep(AtDigest(0)), "gradient", "gradient"},
      {"weights", EditStep(AtDigest(1)), "weights", "weights"},
      {"no_digests", EditStep(DropDigests), "gradient", "gradient"},
      {"metric", EditStep(FlipLastBit("metrics", "value")), "metrics", "metrics"},
  };
}

std::vector<Edit> CheckpointEdits() {
  return {
      {"checkpoint_weights", FlipCheckpointBit("weights"), "checkpoint", "checkpoint"},
      {kNotFinite, CorruptCheckpoint(std::numeric_limits<float>::quiet_NaN()), "checkpoint", "checkpoint"},
      {kTooGreat, CorruptCheckpoint(3e38f), "checkpoint", "checkpoint"},
      {"checkpoint_moments", FlipCheckpointBit("second_moments"), "checkpoint", "checkpoint"},
      {"no_checkpoint", DropCheckpoint(), "checkpoint", "checkpoint"},
  };
}

std::vector<Edit> ConfigurationEdits() {
  return {
      {"seed", SetConfiguration("run.seed = 7", "run.seed = 8"), "tasks", "tasks"},
      // First changes the gradient of the step's second iteration, because the first iteration changes the weights.
      {"learning_rate", SetConfiguration("optimizer.learning_rate = 0.001", "optimizer.learning_rate = 0.002"),
       "gradient", "gradient"},
  };
}

std::vector<Edit> OutsideEdits() {
  return {
      {"reward_of_program", EditStep(AddToReward("replies")), "rewards", "replies"},
      {"evaluated_reward_of_program", EditStep(AddToReward("evaluation_replies")), "metrics", "evaluation"},
      {"forgotten_tool_call", EditStep(SetToolCall(0)), "metrics", "replies"},
      {"refused_tool_call", EditStep(SetToolCall(2)), "", "replies"},
  };
}

std::vector<Edit> ImpossibleEdits() {
  return {
      {"token_beyond_the_vocabulary", EditStep(SetToken(1'000'000)), "", "tokens"},
      {"negative_token", EditStep(SetToken(-1)), "", "tokens"},
      {"completion_beyond_all_positions", EditStep(AtCompletion(LongerThanAnyPosition)), "", "tokens"},
      {"prompt_that_is_none", EditStep(SetIndex("prompt", int64_t{1} << 60)), "", "tokens"},
      {"sample_that_is_none", EditStep(SetIndex("sample", -7)), "", "tokens"},
      {"an_episode_too_few", EditStep(DropEpisodes([](int64_t place) { return place == 5; })), "", ""},
      {"a_sample_of_every_prompt_too_few", EditStep(DropEpisodes([](int64_t place) { return place % 4 == 3; })), "",
       ""},
      {"a_turn_without_its_episode",
       EditStep([](Streams& s) { DropRows(s.at("episodes"), [](int64_t place) { return place == 5; }); }), "", ""},
      {"a_task_too_few",
       EditStep([](Streams& s) { DropRows(s.at("tasks"), [](int64_t place) { return place == 5; }); }), "tasks",
       "tasks"},
      {"a_gradient_too_few",
       EditStep([](Streams& s) { DropRows(s.at("digests"), [](int64_t place) { return place == 0; }); }), "", ""},
      {"an_unknown_phase",
       EditStep(AtRow("metrics", [](StreamTable& t, int64_t row) { MutableRow<uint8_t>(t, "phase", row)[0] = 9; })), "",
       ""},
  };
}

std::vector<Edit> AllEdits() {
  std::vector<Edit> all;
  for (const auto& edits :
       {PlausibleEdits(), CheckpointEdits(), ConfigurationEdits(), OutsideEdits(), ImpossibleEdits(), Additions()}) {
    all.insert(all.end(), edits.begin(), edits.end());
  }
  return all;
}

}  // namespace reprise::testing
