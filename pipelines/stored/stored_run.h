#ifndef PIPELINES_STORED_STORED_RUN_H_
#define PIPELINES_STORED_STORED_RUN_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/resolve.h"
#include "data/artifact/run_reader.h"
#include "rl/config/config.h"
#include "rl/record/step_tables.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise {

// A run.h5, or the committed part of a run that has none yet, verified and read.
struct StoredRun {
  std::unique_ptr<RunReader> reader;
  std::string unfinished_in;  // the directory of a run without run.h5, else empty
  rl::Config config;          // with "external" for paths
  std::vector<rl::StepTables> steps;
  int64_t last_training_step = 0;
};

// Where a person finds the program that a run can be executed with.
inline constexpr absl::string_view kWhereRevisionIs =
    "the program that made the run knows it: execution.jsonl in the run's folder has its \"revision\"";

// Returns DataLoss if a configuration contains something that no run stores: keys of [execution], or a path instead of
// "external". A file must not determine which files are opened here, or how the work is done.
absl::Status CheckIsStored(rl::Config config, const config::Origins& origins);

// Parses the configuration `text` of a stored run. DataLoss if it is invalid, or contains something that no run stores.
absl::StatusOr<rl::Config> ParseStoredConfig(const std::string& text);

// Sets configuration and steps from run->reader. DataLoss, naming `path`, if the streams are not those of a run of
// this product, or have unsupported versions, or if the steps are not the first ones of the configuration's run, each
// once, in order, and under its number.
absl::Status Interpret(const std::string& path, StoredRun* run);

// Opens and verifies a run without interpreting it: a run.h5, or in a run's directory its run.h5 or, without one,
// everything that is committed. Does not disturb a process that writes the run. NotFound where there is no run, or
// nothing of it is committed; InvalidArgument for what is of a sweep; otherwise the reader's errors.
absl::StatusOr<StoredRun> OpenUninterpreted(const std::string& path);

// The same, interpreted. Errors also those of Interpret.
absl::StatusOr<StoredRun> OpenStoredRun(const std::string& path);

// Returns the tensors in the order of the records' digests, if they can be determined from a checkpoint or from the
// configuration; otherwise none.
std::vector<std::string> TensorNames(const StoredRun& run);

// Replaces the stored "external" by the path `given` by a flag (PathKeyForFlag), if it is not empty. InvalidArgument,
// naming the flag, if the run has no such file.
absl::Status TakePath(absl::string_view flag, const std::string& given, rl::Config* config);

// Returns InvalidArgument if the directory of --output is a file.
absl::Status CheckIsNoFile(const std::string& output);

// FailedPrecondition, with a remedy, if one of the flags was not given for a file that the run read.
absl::Status CheckPathsAreGiven(rl::Config config,
                                std::initializer_list<absl::string_view> flags = {"--model", "--held-out", "--data"});

// Returns InvalidArgument with the remedy: the run's external process must be called, for the reason `why`. The command
// stored in the file is untrusted. It is printed and never executed.
absl::Status NeedsProcessCommand(const rl::Config& stored, absl::string_view why);

// Returns FailedPrecondition, naming the file, unless the files that were read are those of the run: those that it
// `stored`. Those that are not of a model (--data, --held-out, --init-from) are checked if they were read.
absl::Status CheckSameFiles(const rl::Config& config, const std::vector<ExternalFile>& stored,
                            const std::vector<rl::ExternalFile>& files);
absl::Status CheckSameFiles(const StoredRun& run, const std::vector<rl::ExternalFile>& files);

}  // namespace reprise

#endif  // PIPELINES_STORED_STORED_RUN_H_
