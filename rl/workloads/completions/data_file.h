#ifndef RL_WORKLOADS_COMPLETIONS_DATA_FILE_H_
#define RL_WORKLOADS_COMPLETIONS_DATA_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/tasks/task.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/episodes/draw_problem.h"
#include "rl/workload/external_file.h"

namespace reprise::rl {

// The name under which a run stores the file of its problems: the file's path on the host is not part of the run's
// identity.
inline constexpr absl::string_view kProblemsName = "data/problems";

inline constexpr absl::string_view kHeldOutName = "data/held_out";  // the file of evaluation.path

// The problems of data.path, and those that are held out of training: a share of them (SplitByForm), or
// those of evaluation.path; and the files that they come from. All empty where the paths are empty.
struct DataFile {
  std::vector<data::Task> problems, held_out;
  std::vector<ExternalFile> files;
  std::string warning;  // about problems in both files, which are therefore not held out; empty: none
};

// Reads the files. Errors: those of the files, and of data::ParseTaskLines; DataLoss for a problem without an answer
// that a reward, or the SFT phase, reads; InvalidArgument for a share that leaves one side empty and, naming file and
// line, for a prompt that has no tokens where prompts are compared.
absl::StatusOr<DataFile> ReadDataFile(const Config& config, const models::Tokenizer& tokenizer);

// Returns the indices of the problems of data.path on both sides of evaluation.held_out_share (SplitByForm of
// PromptAsRead). InvalidArgument, naming file and line, for a prompt that has no tokens. Pure.
absl::StatusOr<Split> SplitProblems(const Config& config, const models::Tokenizer& tokenizer,
                                    const std::vector<data::Task>& problems);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_DATA_FILE_H_
