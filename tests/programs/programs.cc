#include "tests/programs/programs.h"

#include "core/digest/sha256.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace reprise::testing {
namespace {

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t newline = text.rfind('\n', end);
  const size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return text.substr(begin, end + 1 - begin);
}

nlohmann::json ParseLastLine(const std::string& text) {
  return nlohmann::json::parse(LastLine(text), nullptr, /*allow_exceptions=*/false);
}

bool IsEvent(const nlohmann::json& line, const std::string& event) {
  return line.is_object() && line.value("event", "") == event;
}

Counts ParseCounts(const nlohmann::json& line) {
  const nlohmann::json& isas = line.at("ranks_by_instruction_set");
  return {.ranks = line.at("ranks"),
          .threads = line.at("threads"),
          .avx2_ranks = isas.at("avx2"),
          .avx512_ranks = isas.at("avx512"),
          .micro_batches = line.at("micro_batches"),
          .cut_groups = line.at("cut_groups"),
          .prompt_rows = line.at("prompt_rows"),
          .completion_rows = line.at("completion_rows"),
          .refills = line.value("refills", int64_t{0}),  // of runs that decode
          .activation_bytes = line.at("activation_bytes"),
          .buckets = line.at("buckets"),
          .early_buckets = line.at("early_buckets"),
          .messages = line.at("messages"),
          .wire_bytes = line.at("wire_bytes"),
          .collectives = line.at("collectives"),
          .exchange_messages = line.at("exchange_messages"),
          .exchange_bytes = line.at("exchange_bytes"),
          .exchange_collectives = line.at("exchange_collectives"),
          .process_starts = line.at("process_starts"),
          .process_restarts = line.at("process_restarts"),
          .peak_memory = line.at("peak_memory"),
          .segments = line.at("segments"),
          .states = line.at("states")};
}

}  // namespace

StartedProcess StartProgramOnRanks(const Execution& execution, const std::vector<std::string>& arguments) {
  std::vector<std::string> line;
  std::map<std::string, std::string> variables = execution.variables;
  variables.insert({{"REPRISE_ISA", execution.isa}, {"OMP_NUM_THREADS", "1"}});
  if (execution.ranks > 1 || execution.mpirun) {
    line = {"tools/run_mpi_test.sh", std::to_string(execution.ranks)};
    std::string options = "-q";
    // A library is loaded into the ranks alone: one that a sanitizer has instrumented would end mpirun.
    if (const auto preload = variables.extract("LD_PRELOAD")) options += " -x LD_PRELOAD=" + preload.mapped();
    variables["MPI_TEST_OPTIONS"] = options;
  }
  line.insert(line.end(), arguments.begin(), arguments.end());
  return StartProcess(line, variables);
}

ProcessResult RunProgramOnRanks(const Execution& execution, const std::vector<std::string>& arguments) {
  return WaitFor(StartProgramOnRanks(execution, arguments));
}

TrainedRun Train(const std::string& config, const std::vector<std::string>& overrides, const Execution& execution,
                 const std::string& program) {
  TrainedRun run;
  const std::string directory = UniqueTemporaryPath();
  std::vector<std::string> arguments = {program, config, "--output", directory, "--json"};
  for (const std::string& override : overrides) arguments.insert(arguments.end(), {"--set", override});
  run.process = RunProgramOnRanks(execution, arguments);
  EXPECT_EQ(run.process.exit_code, 0) << run.process.err;
  if (run.process.exit_code != 0) return run;
  const nlohmann::json done = ParseLastLine(run.process.out);
  const nlohmann::json end = ParseLastLine(Contents(directory + "/execution.jsonl"));
  const bool reported = IsEvent(done, "done") && IsEvent(end, "end");
  EXPECT_TRUE(reported) << run.process.out;
  if (!reported) return run;
  run.directory = directory;
  run.run_sha256 = ToHex(Sha256(Contents(run.file())));
  run.weights_sha256 = ToHex(Sha256(Contents(directory + "/model/model.safetensors")));
  EXPECT_EQ(done.at("run_sha256"), run.run_sha256);
  EXPECT_EQ(done.at("weights_sha256"), run.weights_sha256);
  run.counts = ParseCounts(end);
  return run;
}

Verdict Reproduce(const std::string& run_file, const std::string& mode, const Execution& execution,
                  const std::vector<std::string>& flags) {
  Verdict verdict;
  std::vector<std::string> arguments = {"pipelines/reproduce", run_file, "--mode", mode, "--json", "--quiet"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  verdict.process = RunProgramOnRanks(execution, arguments);
  const nlohmann::json line = ParseLastLine(verdict.process.out);
  if (!IsEvent(line, "verdict")) return verdict;
  verdict.given = true;
  verdict.pass = line.at("pass");
  verdict.steps_checked = line.at("steps_checked");
  const nlohmann::json& first = line.at("first_divergence");
  if (first.is_object()) {
    verdict.first = FirstDifference{
        .phase = first.at("phase"), .stage = first.at("stage"), .tensor = first.at("tensor"), .step = first.at("step")};
  }
  return verdict;
}

}  // namespace reprise::testing
