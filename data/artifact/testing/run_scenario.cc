#include "data/artifact/testing/run_scenario.h"

#include "absl/strings/str_cat.h"
#include "core/io/read_file.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/artifact/find_run.h"
#include "data/artifact/testing/example_run.h"

namespace reprise::testing {
namespace {

constexpr char kDirectory[] = "run";
constexpr char kAside[] = "run.before.h5";

StreamSchema Schema() { return {"values", 1, {ScalarColumn("value", DType::kI64), StringColumn("text")}}; }

StreamTable RowsOf(int64_t step) {
  StreamTable table(Schema());
  for (int64_t row = 0; row <= step % 3; ++row) {
    table.AppendI64(0, 100 * step + row);
    table.AppendString(1, absl::StrCat("step ", step));
  }
  return table;
}

// Records what is durable if the writer has more segments than before.
void Note(const RunWriter& writer, const std::set<std::pair<int64_t, std::string>>& added, Promise& promise) {
  promise.step = writer.last_step();
  promise.checkpoints.insert(added.begin(), added.end());
}

absl::Status Create(FileSystem& files, const RunPlan& plan, int64_t last, Promise& promise) {
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Create(files, kDirectory, HeaderOf(plan), OptionsOf(plan)));
  promise.has_begun = true;
  return WriteSteps(plan, last, writer, promise);
}

absl::Status Resume(FileSystem& files, const RunPlan& plan, int64_t last, Promise& promise) {
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Resume(files, kDirectory, HeaderOf(plan), OptionsOf(plan)));
  RETURN_IF_ERROR(CheckPromise(writer, promise));
  promise.has_begun = true;
  return WriteSteps(plan, last, writer, promise);
}

absl::Status AddCheckpoint(int64_t step, RunWriter& writer) {
  RETURN_IF_ERROR(writer.AddCheckpoint(step, "small", ViewsOf(ExampleTensors(step, 20))));
  return writer.AddCheckpoint(step, "large", ViewsOf(ExampleTensors(step, 200)));
}

// Writes the steps of the finished run `before`, with the checkpoints that it still has.
absl::Status CopySteps(const RunPlan& before, RunWriter& writer) {
  const int64_t every = before.steps_per_checkpoint;
  for (int64_t step = 1; step <= before.steps; ++step) {
    RETURN_IF_ERROR(writer.CommitStep(step, {RowsOf(step)}));
    const int64_t newer = before.steps / every - step / every;
    const bool is_kept = before.keep_checkpoints == 0 || newer < before.keep_checkpoints;
    if (step % every == 0 && is_kept) RETURN_IF_ERROR(AddCheckpoint(step, writer));
  }
  return writer.Flush();
}

// Extends the finished run `before` and repeats its steps, as a run does whose checkpoints are not states.
absl::Status Rewrite(FileSystem& files, const RunPlan& before, const RunPlan& plan, Promise& promise) {
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Rewrite(files, kDirectory, HeaderOf(plan), OptionsOf(plan)));
  RETURN_IF_ERROR(CopySteps(before, writer));
  RETURN_IF_ERROR(writer.SetAside(kAside));
  promise = Promise();
  promise.has_begun = true;
  promise.step = before.steps;
  return WriteRest(plan, writer, promise);
}

// Continues a rewrite of the finished run `before`, which the run of `plan` may already have replaced.
absl::Status GoOnRewriting(FileSystem& files, const RunPlan& before, const RunPlan& plan, Promise& promise) {
  ASSIGN_OR_RETURN(const FoundRun found, FindRun(files, kDirectory));
  if (found.stage == RunStage::kFinished && found.header.config_text == before.config) {
    if (promise.has_begun && !promise.is_finished) return absl::DataLossError("the run that was set aside is back");
    return Rewrite(files, before, plan, promise);
  }
  if (found.stage == RunStage::kNone || found.stage == RunStage::kClaimed) return absl::DataLossError("no run is left");
  return ResumePoint(files, plan, promise);
}

Scenario OneProcess(const RunPlan& plan) {
  const auto whole = [plan](FileSystem& files, Promise& promise) -> absl::Status {
    ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Create(files, kDirectory, HeaderOf(plan), OptionsOf(plan)));
    promise.has_begun = true;
    return WriteRest(plan, writer, promise);
  };
  return {"one process", nullptr, {whole}, [plan](FileSystem& files, Promise& promise) {
            return ResumePoint(files, plan, promise);
          }};
}

Scenario ResumedTwice(const RunPlan& plan) {
  const auto beginning = [plan](FileSystem& files, Promise& promise) {
    return Create(files, plan, plan.steps / 3, promise);
  };
  const auto middle = [plan](FileSystem& files, Promise& promise) {
    return Resume(files, plan, 2 * plan.steps / 3, promise);
  };
  const auto rest = [plan](FileSystem& files, Promise& promise) { return ResumePoint(files, plan, promise); };
  return {"resumed twice", nullptr, {beginning, middle, rest}, rest};
}

Scenario Rewritten(const RunPlan& before, const RunPlan& plan) {
  const auto finish_first = [before](FileSystem& files, Promise&) -> absl::Status {
    Promise first;
    return ResumePoint(files, before, first);
  };
  const auto rewrite = [before, plan](FileSystem& files, Promise& promise) {
    return Rewrite(files, before, plan, promise);
  };
  return {"rewritten", finish_first, {rewrite}, [before, plan](FileSystem& files, Promise& promise) {
            return GoOnRewriting(files, before, plan, promise);
          }};
}

Scenario Tidied(const RunPlan& plan) {
  const auto leave_pieces = [plan](FileSystem& files, Promise& promise) -> absl::Status {
    RETURN_IF_ERROR(ResumePoint(files, plan, promise));
    ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Rewrite(files, kDirectory, HeaderOf(plan), OptionsOf(plan)));
    Promise nothing;
    return WriteSteps(plan, plan.steps, writer, nothing);
  };
  const auto tidy = [](FileSystem& files, Promise&) { return RunWriter::Tidy(files, kDirectory).status(); };
  return {"tidied", leave_pieces, {tidy}, [plan](FileSystem& files, Promise& promise) {
            return ResumePoint(files, plan, promise);
          }};
}

void Collect(FileSystem& files, const std::string& directory, Contents& contents) {
  const auto names = files.List(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = JoinPath(directory, name);
    if (files.Stat(path)->is_directory) {
      Collect(files, path, contents);
    } else {
      contents[path] = ReadFile(files, path, int64_t{1} << 30).value();
    }
  }
}

}  // namespace

RunHeader HeaderOf(const RunPlan& plan) {
  return {.config_text = plan.config, .external_files = {{"data", Sha256("data")}}, .streams = {Schema()}};
}

RunWriterOptions OptionsOf(const RunPlan& plan) {
  return {.segment_steps = plan.steps_per_segment,
          .keep_checkpoints = plan.keep_checkpoints,
          .max_inline_checkpoint_bytes = 500};
}

absl::Status WriteSteps(const RunPlan& plan, int64_t last, RunWriter& writer, Promise& promise) {
  std::set<std::pair<int64_t, std::string>> added;
  for (int64_t step = 1; step <= last; ++step) {
    const size_t segments = writer.segments().size();
    if (step > writer.last_step()) RETURN_IF_ERROR(writer.CommitStep(step, {RowsOf(step)}));
    if (writer.segments().size() > segments) Note(writer, added, promise);
    if (step % plan.steps_per_checkpoint != 0) continue;
    RETURN_IF_ERROR(AddCheckpoint(step, writer));
    // A rewritten run does not get the checkpoints back that the finished one had removed.
    if (plan.keep_checkpoints == 0 || writer.HasCheckpoint(step, "large")) {
      added.insert({{step, "small"}, {step, "large"}});
    }
  }
  RETURN_IF_ERROR(writer.Flush());
  Note(writer, added, promise);
  return absl::OkStatus();
}

absl::Status WriteRest(const RunPlan& plan, RunWriter& writer, Promise& promise) {
  RETURN_IF_ERROR(WriteSteps(plan, plan.steps, writer, promise));
  RETURN_IF_ERROR(writer.Finish().status());
  promise.is_finished = true;
  return absl::OkStatus();
}

absl::Status CheckPromise(const RunWriter& writer, const Promise& promise) {
  if (writer.last_step() < promise.step) {
    return absl::DataLossError(absl::StrCat("step ", promise.step, " was lost; the last is ", writer.last_step()));
  }
  for (const auto& [step, group] : promise.checkpoints) {
    if (!writer.HasCheckpoint(step, group)) return absl::DataLossError(absl::StrCat("a checkpoint of step ", step));
  }
  return absl::OkStatus();
}

absl::Status ResumePoint(FileSystem& files, const RunPlan& plan, Promise& promise) {
  ASSIGN_OR_RETURN(const FoundRun found, FindRun(files, kDirectory));
  if (promise.is_finished && found.stage != RunStage::kFinished) return absl::DataLossError("run.h5 was lost");
  switch (found.stage) {
    case RunStage::kNone:
      if (promise.has_begun) return absl::DataLossError("the run was lost");
      RETURN_IF_ERROR(Create(files, plan, 0, promise));
      [[fallthrough]];
    case RunStage::kClaimed:
    case RunStage::kInProgress: {
      if (promise.has_begun && found.stage == RunStage::kClaimed)
        return absl::DataLossError("the run's header was lost");
      ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Resume(files, kDirectory, HeaderOf(plan), OptionsOf(plan)));
      RETURN_IF_ERROR(CheckPromise(writer, promise));
      promise.has_begun = true;
      return WriteRest(plan, writer, promise);
    }
    case RunStage::kFinished:
      promise.is_finished = true;
      return RunWriter::Tidy(files, kDirectory).status();
  }
  return absl::OkStatus();
}

absl::Status RunProcesses(const Scenario& scenario, FileSystem& files, Promise& promise) {
  for (const Scenario::Process& process : scenario.processes) RETURN_IF_ERROR(process(files, promise));
  return absl::OkStatus();
}

Contents ContentsOf(FileSystem& files) {
  Contents contents;
  Collect(files, kDirectory, contents);
  return contents;
}

std::vector<Scenario> AllScenarios(int64_t steps) {
  const RunPlan plan = {.steps = steps};
  const RunPlan longer = {.config = "[run]\nseed = 1\nsteps = 9\n", .steps = steps + 1};
  RunPlan keeping = plan;
  keeping.steps_per_checkpoint = keeping.keep_checkpoints = 1;
  std::vector<Scenario> scenarios = {OneProcess(plan), ResumedTwice(plan), Rewritten(plan, longer), Tidied(plan),
                                     ResumedTwice(keeping)};
  scenarios.back().name += ", keeping one checkpoint";
  return scenarios;
}

Scenario RewrittenKeepingOne(int64_t steps) {
  RunPlan plan = {.steps = steps}, longer = {.config = "[run]\nseed = 1\nsteps = 9\n", .steps = steps + 1};
  for (RunPlan* of : {&plan, &longer}) of->steps_per_checkpoint = of->keep_checkpoints = 1;
  Scenario scenario = Rewritten(plan, longer);
  scenario.name += ", keeping one checkpoint";
  return scenario;
}

}  // namespace reprise::testing
