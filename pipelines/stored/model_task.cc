#include "pipelines/stored/model_task.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/stored/stored_run.h"

namespace reprise {
namespace {

constexpr int64_t kFormat = 1, kMostBytes = int64_t{1} << 24;

constexpr absl::string_view kMembers[] = {"format", "numeric_contract", "config", "files"};

absl::StatusOr<ModelTask> Parse(const std::string& text) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  ASSIGN_OR_RETURN(const JsonValue format, document.root().Get("format"));
  RETURN_IF_ERROR(format.Integer(kFormat, kFormat).status());
  ASSIGN_OR_RETURN(const auto all, document.root().Members());
  for (const auto& [name, value] : all) {
    if (std::find(std::begin(kMembers), std::end(kMembers), name) != std::end(kMembers)) continue;
    return absl::DataLossError(absl::StrCat("it has the unknown member \"", name, "\": remove it"));
  }
  ModelTask task;
  ASSIGN_OR_RETURN(const JsonValue contract, document.root().Get("numeric_contract"));
  ASSIGN_OR_RETURN(task.numeric_contract, contract.Integer(1, std::numeric_limits<int64_t>::max()));
  ASSIGN_OR_RETURN(const JsonValue config, document.root().Get("config"));
  ASSIGN_OR_RETURN(const absl::string_view config_text, config.String());
  ASSIGN_OR_RETURN(task.config, StoredConfigOf(std::string(config_text)));
  ASSIGN_OR_RETURN(const JsonValue files, document.root().Get("files"));
  ASSIGN_OR_RETURN(const auto members, files.Members());
  for (const auto& [name, value] : members) {
    ASSIGN_OR_RETURN(const absl::string_view hex, value.String());
    ASSIGN_OR_RETURN(const Digest sha256, DigestFromHex(hex));
    task.files.push_back({std::string(name), sha256});
  }
  return task;
}

// Also of a run whose configuration this program does not know.
bool IsOfARun(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(files, path, kMostBytes);
  if (!text.ok()) return false;
  const absl::StatusOr<JsonDocument> document = JsonDocument::Parse(*text);
  if (!document.ok()) return false;
  return document->root().Get("format").ok() && document->root().Get("config").ok() &&
         document->root().Get("files").ok();
}

}  // namespace

absl::Status WriteModelTask(FileSystem& files, const std::string& directory, const RunHeader& header,
                            int64_t numeric_contract) {
  nlohmann::ordered_json digests = nlohmann::ordered_json::object();
  for (const ExternalFile& file : header.external_files) {
    if (!absl::StartsWith(file.name, "model/")) digests[file.name] = ToHex(file.sha256);
  }
  const nlohmann::ordered_json task = {
      {"format", kFormat}, {"numeric_contract", numeric_contract}, {"config", header.config_text}, {"files", digests}};
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  const std::string path = JoinPath(directory, kModelTaskFile);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (exists && !IsOfARun(files, path)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists, and no run wrote it: choose another directory"));
  }
  if (exists) RETURN_IF_ERROR(files.Unlink(path));  // of an export that was killed
  return WriteFileAtomically(files, path, absl::StrCat(task.dump(2), "\n"));
}

void RemoveModelTask(FileSystem& files, const std::string& directory) {
  files.Unlink(JoinPath(directory, kModelTaskFile)).IgnoreError();
}

absl::StatusOr<std::optional<ModelTask>> ReadModelTask(FileSystem& files, const std::string& directory) {
  const std::string path = JoinPath(directory, kModelTaskFile);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (!exists) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path, kMostBytes));
  absl::StatusOr<ModelTask> task = Parse(text);
  if (task.ok()) return *std::move(task);
  return absl::DataLossError(
      absl::StrCat(path, ": ", task.status().message(), "; --config FILE evaluates the model without this file"));
}

}  // namespace reprise
