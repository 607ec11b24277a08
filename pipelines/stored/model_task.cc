#include "pipelines/stored/model_task.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"
#include "core/io/atomic_file.h"
#include "core/io/optional_file.h"
#include "core/io/read_file.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"
#include "kernels/contract/numeric_contract.h"
#include "nlohmann/json.hpp"
#include "pipelines/stored/stored_run.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise {
namespace {

constexpr int64_t kFormat = 1;

// A model that a run starts from must leave room for that run in the file of its own model.
constexpr size_t kMostTrainings = 1000, kMostBytesOfBase = rl::kMostModelTaskBytes / 2;

constexpr absl::string_view kEarlier = "earlier_runs";
constexpr absl::string_view kMembers[] = {"format", "numeric_contract", "config", "files", kEarlier};
constexpr absl::string_view kMembersOfEarlier[] = {"config", "files"};

constexpr absl::string_view kWithoutFile = "; --config FILE evaluates the model without this file";
constexpr absl::string_view kWriteAnew =
    "; ./reprise export writes it anew from the model's run, and a file that no run wrote belongs elsewhere";

absl::Status CheckMembers(const JsonValue& value, absl::Span<const absl::string_view> known) {
  ASSIGN_OR_RETURN(const auto all, value.Members());
  for (const auto& [name, member] : all) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return absl::DataLossError(absl::StrCat("it has the unknown member \"", name, "\": remove it"));
  }
  return absl::OkStatus();
}

absl::Status CheckNumber(const JsonValue& root, absl::string_view name, int64_t known) {
  ASSIGN_OR_RETURN(const JsonValue member, root.Get(name));
  ASSIGN_OR_RETURN(const int64_t number, member.Integer(0, std::numeric_limits<int64_t>::max()));
  if (number == known) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("its ", name, " is ", number, "; this program reads ", known));
}

absl::StatusOr<StoredTraining> ParseTraining(const JsonValue& value) {
  StoredTraining training;
  ASSIGN_OR_RETURN(const JsonValue config, value.Get("config"));
  ASSIGN_OR_RETURN(const absl::string_view config_text, config.String());
  training.config_text = std::string(config_text);
  ASSIGN_OR_RETURN(const JsonValue files, value.Get("files"));
  ASSIGN_OR_RETURN(const auto members, files.Members());
  for (const auto& [name, digest] : members) {
    ASSIGN_OR_RETURN(const absl::string_view hex, digest.String());
    ASSIGN_OR_RETURN(const Digest sha256, DigestFromHex(hex));
    training.files.push_back({std::string(name), sha256});
  }
  return training;
}

// Returns the run that wrote the file, and those before it.
absl::StatusOr<std::vector<StoredTraining>> Parse(const std::string& text) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  const JsonValue root = document.root();
  RETURN_IF_ERROR(CheckNumber(root, "format", kFormat));
  RETURN_IF_ERROR(CheckNumber(root, "numeric_contract", kNumericContract));
  RETURN_IF_ERROR(CheckMembers(root, kMembers));
  std::vector<StoredTraining> trainings;
  ASSIGN_OR_RETURN(trainings.emplace_back(), ParseTraining(root));
  const std::optional<JsonValue> earlier = root.Find(kEarlier);
  if (!earlier) return trainings;
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, earlier->Elements());
  if (elements.size() >= kMostTrainings) {
    return absl::DataLossError(
        absl::StrCat(earlier->place(), " has ", elements.size(), " runs; expected at most ", kMostTrainings - 1));
  }
  for (const JsonValue& element : elements) {
    RETURN_IF_ERROR(CheckMembers(element, kMembersOfEarlier));
    ASSIGN_OR_RETURN(trainings.emplace_back(), ParseTraining(element));
  }
  return trainings;
}

absl::StatusOr<ModelTask> Interpret(const StoredTraining& training) {
  ModelTask task = {.config = {}, .files = training.files};
  ASSIGN_OR_RETURN(task.config, ParseStoredConfig(training.config_text));
  return task;
}

absl::Status Damaged(const std::string& path, const absl::Status& status, absl::string_view remedy) {
  return absl::DataLossError(absl::StrCat(path, ": ", status.message(), remedy));
}

// Also of a run whose configuration this program does not know.
bool IsOfARun(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(files, path, rl::kMostModelTaskBytes);
  if (!text.ok()) return false;
  const absl::StatusOr<JsonDocument> document = JsonDocument::Parse(*text);
  if (!document.ok()) return false;
  return document->root().Get("format").ok() && document->root().Get("config").ok() &&
         document->root().Get("files").ok();
}

nlohmann::ordered_json ToJson(const StoredTraining& training) {
  nlohmann::ordered_json digests = nlohmann::ordered_json::object();
  for (const ExternalFile& file : training.files) digests[file.name] = ToHex(file.sha256);
  return {{"config", training.config_text}, {"files", digests}};
}

}  // namespace

absl::Status WriteModelTask(FileSystem& files, const std::string& directory, const RunHeader& header,
                            const std::vector<StoredTraining>& earlier) {
  StoredTraining own = {header.config_text, {}};
  for (const ExternalFile& file : header.external_files) {
    if (!absl::StartsWith(file.name, "model/")) own.files.push_back(file);
  }
  nlohmann::ordered_json task = {{"format", kFormat}, {"numeric_contract", kNumericContract}};
  task.update(ToJson(own));
  // Rounds with one configuration and the same files count once.
  for (auto each = earlier.begin(); each != earlier.end(); ++each) {
    if (std::find(earlier.begin(), each, *each) == each) task[std::string(kEarlier)].push_back(ToJson(*each));
  }
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  const std::string path = JoinPath(directory, rl::kModelTaskFile);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (exists && !IsOfARun(files, path)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists, and no run wrote it: choose another directory"));
  }
  if (exists) RETURN_IF_ERROR(files.Unlink(path));  // of an export that was killed
  return WriteFileAtomically(files, path, absl::StrCat(task.dump(2), "\n"));
}

void RemoveModelTask(FileSystem& files, const std::string& directory) {
  files.Unlink(JoinPath(directory, rl::kModelTaskFile)).IgnoreError();
}

absl::StatusOr<std::optional<ModelTask>> ReadModelTask(FileSystem& files, const std::string& directory) {
  const std::string path = JoinPath(directory, rl::kModelTaskFile);
  ASSIGN_OR_RETURN(const bool is_present, IsPresent(path));
  if (!is_present) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path, rl::kMostModelTaskBytes));
  const absl::StatusOr<std::vector<StoredTraining>> trainings = Parse(text);
  if (!trainings.ok()) return Damaged(path, trainings.status(), kWithoutFile);
  std::vector<ModelTask> tasks;
  for (const StoredTraining& training : *trainings) {
    absl::StatusOr<ModelTask> task = Interpret(training);
    if (!task.ok()) return Damaged(path, task.status(), kWithoutFile);
    tasks.push_back(*std::move(task));
  }
  ModelTask own = std::move(tasks.front());
  own.earlier.assign(std::make_move_iterator(tasks.begin() + 1), std::make_move_iterator(tasks.end()));
  return own;
}

absl::StatusOr<std::vector<StoredTraining>> ReadTrainings(FileSystem& files, const std::string& directory,
                                                          absl::Span<const rl::ExternalFile> digested) {
  const auto file = std::find_if(digested.begin(), digested.end(),
                                 [](const rl::ExternalFile& each) { return each.name == rl::kModelTaskName; });
  if (file == digested.end()) return std::vector<StoredTraining>();
  const std::string path = JoinPath(directory, rl::kModelTaskFile);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path, kMostBytesOfBase));
  if (Sha256(text) != file->sha256) {
    return absl::UnavailableError(absl::StrCat(path, " was changed while it was read: try again"));
  }
  absl::StatusOr<std::vector<StoredTraining>> trainings = Parse(text);
  if (trainings.ok() && trainings->size() >= kMostTrainings) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " lists ", trainings->size(), " runs that trained the model, and no file lists more than ",
        kMostTrainings, ": train from a model with fewer, or remove the file, without which nothing is known of them"));
  }
  if (!trainings.ok()) return Damaged(path, trainings.status(), kWriteAnew);
  return trainings;
}

absl::StatusOr<std::vector<ModelTask>> InterpretTrainings(const std::string& directory,
                                                          const std::vector<StoredTraining>& trainings) {
  std::vector<ModelTask> tasks;
  for (const StoredTraining& training : trainings) {
    absl::StatusOr<ModelTask> task = Interpret(training);
    if (!task.ok()) return Damaged(JoinPath(directory, rl::kModelTaskFile), task.status(), kWriteAnew);
    tasks.push_back(*std::move(task));
  }
  return tasks;
}

}  // namespace reprise
