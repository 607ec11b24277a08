#include "pipelines/training/train_end.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_reader.h"
#include "models/olmoe/model_directory.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/program.h"

namespace reprise {
namespace {

constexpr int64_t kMostWeightBytes = int64_t{1} << 42;

absl::StatusOr<RunDigests> FinishArtifact(FileSystem& files, const std::string& directory, RunWriter* writer) {
  if (writer != nullptr) return writer->Finish();
  ASSIGN_OR_RETURN(const RunReader run, RunReader::Open(files, JoinPath(directory, "run.h5")));
  return RunDigests{run.run_digest_hex(), run.file_sha256_hex()};
}

// Removes the files of an export that was killed, which lacks config.json because that is written last. Other files are
// kept.
absl::Status RemovePartOfModel(FileSystem& files, const std::string& model) {
  const absl::StatusOr<std::vector<std::string>> names = files.List(model);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    const absl::string_view final_name = FinalName(name);
    const bool is_ours = std::find(std::begin(models::kExportedFiles), std::end(models::kExportedFiles), final_name) !=
                         std::end(models::kExportedFiles);
    if (is_ours) RETURN_IF_ERROR(files.Unlink(JoinPath(model, name)));
  }
  return absl::OkStatus();
}

absl::Status Export(FileSystem& files, const std::string& model, const rl::RunParts& parts,
                    const std::string& chat_template) {
  ASSIGN_OR_RETURN(const bool is_whole, Exists(files, JoinPath(model, "config.json")));
  if (is_whole) return absl::OkStatus();
  RETURN_IF_ERROR(RemovePartOfModel(files, model));
  // A value function is not part of the exported model; the run's checkpoints contain it.
  const models::DecoderLayout policy = models::PolicyPart(parts.model->layout());
  const absl::Status exported = models::ExportModel(
      files, model, parts.model->config(), policy, parts.model->parameters().first(static_cast<size_t>(policy.total)),
      {parts.tokenizer->json(), parts.tokenizer->config_json(), chat_template});
  if (!absl::IsNotFound(exported) && !absl::IsAlreadyExists(exported)) return exported;
  // Files may appear concurrently: another process that resumed the finished run exports the same model.
  ASSIGN_OR_RETURN(const bool is_whole_now, Exists(files, JoinPath(model, "config.json")));
  return is_whole_now ? absl::OkStatus() : exported;
}

}  // namespace

absl::Status FinishRun(FileSystem& files, const std::string& directory, const rl::RunParts& parts,
                       const std::string& chat_template, RunWriter* writer, int64_t steps, bool json) {
  ASSIGN_OR_RETURN(const RunDigests digests, FinishArtifact(files, directory, writer));
  const std::string model = JoinPath(directory, "model");
  RETURN_IF_ERROR(Export(files, model, parts, chat_template));
  ASSIGN_OR_RETURN(const std::string weights, ReadFile(files, JoinPath(model, "model.safetensors"), kMostWeightBytes));
  const std::string weights_hex = ToHex(Sha256(weights));
  if (json) {
    nlohmann::ordered_json done;
    done["event"] = "done";
    done["weights_sha256"] = weights_hex;
    done["run_digest"] = digests.run_digest_hex;
    done["run_sha256"] = digests.file_sha256_hex;
    done["steps"] = steps;
    PrintJsonLine(done);
  } else {
    std::printf("weights sha256:%s\nrun digest sha256:%s\nrun.h5 sha256:%s\n", weights_hex.c_str(),
                digests.run_digest_hex.c_str(), digests.file_sha256_hex.c_str());
  }
  return absl::OkStatus();
}

}  // namespace reprise
