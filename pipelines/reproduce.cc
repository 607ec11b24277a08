// reproduce: executes a run again and compares every record and digest.

#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/io/file_system.h"
#include "core/log/progress.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/configuration.h"
#include "pipelines/phase_name.h"
#include "pipelines/program.h"
#include "pipelines/seconds.h"
#include "pipelines/stored_run.h"
#include "rl/config/check.h"
#include "rl/learner/learner.h"
#include "rl/learner/sources.h"
#include "rl/run/prepare.h"
#include "rl/run/verify_sink.h"

namespace reprise {
namespace {

struct ReproduceFlags {
  std::string run_path, mode = "replay", model_path, data_path, init_from;
  int64_t from_step = 1, steps = 0;  // of training; 0 steps: all that follow
  std::optional<int64_t> threads;
};

void TellVerdict(const std::string& mode, bool json, const rl::VerifySink& sink) {
  const std::optional<rl::Divergence>& found = sink.divergence();
  if (json) {
    nlohmann::ordered_json verdict;
    verdict["event"] = "verdict";
    verdict["pass"] = !found.has_value();
    verdict["mode"] = mode;
    verdict["steps_checked"] = sink.steps_checked();
    verdict["first_divergence"] = nullptr;
    if (found) {
      verdict["first_divergence"] = {
          {"phase", PhaseName(found->phase)}, {"step", found->step},       {"stage", found->stage},
          {"tensor", found->tensor},          {"stored", found->expected}, {"computed", found->actual}};
    }
    std::printf("%s\n", verdict.dump().c_str());
  } else if (found) {
    std::printf("FAIL: %s\n", found->ToString().c_str());
  } else {
    std::printf("PASS: %d steps agree bit for bit (%s)\n", static_cast<int>(sink.steps_checked()), mode.c_str());
  }
}

absl::StatusOr<int> Reproduce(const ReproduceFlags& flags, const CommonFlags& common, Communicator& comm,
                              Logger& logger) {
  ASSIGN_OR_RETURN(StoredRun run, AgreeOk(comm, OpenStoredRun(flags.run_path)));
  rl::Config config = run.config;
  RETURN_IF_ERROR(AgreeOk(comm, OverrideExecution(common.overrides, &config)));
  if (flags.threads) config.execution.threads = *flags.threads;
  if (!flags.model_path.empty()) config.model.path = flags.model_path;
  if (!flags.data_path.empty()) config.data.path = flags.data_path;
  RETURN_IF_ERROR(AgreeOk(comm, rl::CheckConfig(config, common.ranks > 0 ? common.ranks : comm.size())));
  ThreadPool pool(rl::ThreadsOf(config.execution, RanksOnThisMachine()));
  RETURN_IF_ERROR(AgreeOk(comm, CheckExternalFiles(run, config)));
  RETURN_IF_ERROR(AgreeOk(comm, CheckDataFile(config)));
  ASSIGN_OR_RETURN(const rl::RunParts parts, AgreeOk(comm, rl::PrepareRun(config, pool)));
  RETURN_IF_ERROR(AgreeOk(comm, CheckSameFiles(run, parts.external_files)));
  if (common.check) return 0;

  std::vector<std::string> names;
  for (const models::ParameterSpec& spec : parts.model->layout().specs) names.push_back(spec.name);
  Progress progress({0, static_cast<int64_t>(run.records.size()), config.execution.log_every}, &logger, Seconds);
  int64_t checked = 0;
  rl::VerifySink sink(config, *run.reader, run.records, names,
                      [&](const rl::StepRecord&) { progress.Update(++checked, flags.mode); });
  rl::LiveSource live(*parts.model, *parts.tokenizer, rl::GenerateOptionsOf(config, parts.model->config().eos_token_id),
                      pool);
  rl::ReplaySource replay(run.records, parts.model->config(), config.rollout.num_generations);
  rl::EpisodeSource& source = flags.mode == "replay" ? static_cast<rl::EpisodeSource&>(replay) : live;
  ASSIGN_OR_RETURN(const std::unique_ptr<rl::Learner> learner,
                   rl::Learner::Create({config, *parts.model, *parts.tokenizer, source,
                                        comm.rank() == 0 ? &sink : nullptr, comm, pool, parts.problems}));
  RETURN_IF_ERROR(learner->Run(run.last_training_step));
  RETURN_IF_ERROR(
      AgreeOk(comm, comm.rank() == 0 ? WithContext(sink.CheckComplete(), flags.run_path) : absl::OkStatus()));
  // The verdict is rank 0's; all ranks end with its exit code.
  std::vector<int64_t> differs = {sink.divergence().has_value() ? 1 : 0};
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(differs)));
  if (comm.rank() == 0) TellVerdict(flags.mode, common.json, sink);
  return differs[0] == 0 ? kExitOk : kExitDiffers;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::CommandLine command_line(
      "reproduce",
      "Executes a run again and compares every record and digest. Ends with PASS, or FAIL and the first difference.",
      "./reprise reproduce runs/first/run.h5 --mode regenerate --ranks 2");
  reprise::ReproduceFlags flags;
  command_line.app().add_option("RUN", flags.run_path, "A run.h5")->required();
  command_line.app()
      .add_option("--mode", flags.mode,
                  "replay: takes the stored tokens and recomputes the rest; regenerate: samples them again")
      ->check(CLI::IsMember({"replay", "regenerate"}))
      ->capture_default_str();
  command_line.app().add_option("--model", flags.model_path, "The model directory of a run that started from one");
  command_line.app().add_option("--data", flags.data_path, "The file of problems of a run that read one");
  command_line.app()
      .add_option("--threads", flags.threads,
                  "Threads of each rank, 1 unless set; 0 = an equal share of the cores; as --set execution.threads=N")
      ->check(reprise::AtLeast(0));
  command_line.AddOverrides("a key of how the work is done: --set execution.key=value");
  if (const std::optional<int> code = command_line.Parse(argc, argv)) return *code;
  return reprise::RunProgram(command_line, [&](reprise::Communicator& comm, reprise::Logger& logger) {
    return reprise::Reproduce(flags, command_line.flags(), comm, logger);
  });
}
