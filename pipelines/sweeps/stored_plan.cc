#include "pipelines/sweeps/stored_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/field_list.h"
#include "core/config/resolve.h"
#include "core/config/unknown_name.h"
#include "core/digest/sha256.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/sweeps/trials/trial_facts.h"
#include "rl/config/config.h"
#include "rl/run/input_files.h"
#include "rl/run/path_keys.h"

namespace reprise {
namespace {

constexpr int64_t kMostWhole = std::numeric_limits<int64_t>::max();

bool IsFolderName(absl::string_view name) {
  const auto is_allowed = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 200 && name[0] != '.' && std::all_of(name.begin(), name.end(), is_allowed);
}

absl::StatusOr<std::string> TextOf(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Get(key));
  ASSIGN_OR_RETURN(const absl::string_view text, value.String());
  return std::string(text);
}

absl::StatusOr<std::vector<std::string>> ReadMemberTexts(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Get(key));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value.Elements());
  std::vector<std::string> texts;
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const absl::string_view text, element.String());
    texts.emplace_back(text);
  }
  return texts;
}

absl::StatusOr<CompareOptions> ParseCompare(const JsonValue& object) {
  CompareOptions options;
  ASSIGN_OR_RETURN(options.metric, TextOf(object, "metric"));
  ASSIGN_OR_RETURN(const std::string summary, TextOf(object, "summary"));
  ASSIGN_OR_RETURN(options.summary, ParseName<Summary>("summary", summary, kSummaryNames));
  ASSIGN_OR_RETURN(const JsonValue greater, object.Get("greater_is_better"));
  ASSIGN_OR_RETURN(options.greater_is_better, greater.Bool());
  ASSIGN_OR_RETURN(const JsonValue confidence, object.Get("confidence"));
  ASSIGN_OR_RETURN(options.confidence, confidence.Number());
  ASSIGN_OR_RETURN(const JsonValue resamples, object.Get("resamples"));
  ASSIGN_OR_RETURN(options.resamples, resamples.Integer(100, 100'000));
  if (!(options.confidence >= 0.5 && options.confidence <= 0.999)) return confidence.Error("is out of range");
  return options;
}

using FileSets = std::vector<std::vector<ExternalFile>>;  // each once: most trials read the same files

absl::StatusOr<std::vector<ExternalFile>> ParseFiles(const JsonValue& object) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, object.Elements());
  std::vector<ExternalFile> files;
  for (const JsonValue& element : elements) {
    ExternalFile& file = files.emplace_back();
    ASSIGN_OR_RETURN(file.name, TextOf(element, "name"));
    ASSIGN_OR_RETURN(const std::string hex, TextOf(element, "sha256"));
    ASSIGN_OR_RETURN(file.sha256, DigestFromHex(hex));
  }
  return files;
}

absl::StatusOr<std::vector<size_t>> ParseVaried(const JsonValue& object, size_t axes) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Get("varied"));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value.Elements());
  std::vector<size_t> varied;
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const int64_t axis, element.Integer(0, static_cast<int64_t>(axes) - 1));
    varied.push_back(static_cast<size_t>(axis));
  }
  return varied;
}

absl::StatusOr<PlannedTrial> ParseTrial(const JsonValue& object, size_t axes, const FileSets& sets) {
  PlannedTrial trial;
  ASSIGN_OR_RETURN(trial.name, TextOf(object, "name"));
  ASSIGN_OR_RETURN(const JsonValue base, object.Get("base"));
  ASSIGN_OR_RETURN(trial.base, base.Integer(0, kMostWhole));
  ASSIGN_OR_RETURN(trial.arm, TextOf(object, "variant"));
  ASSIGN_OR_RETURN(trial.named, TextOf(object, "named"));
  ASSIGN_OR_RETURN(trial.draw, TextOf(object, "draw"));
  ASSIGN_OR_RETURN(trial.varied, ParseVaried(object, axes));
  ASSIGN_OR_RETURN(trial.problem, TextOf(object, "problem"));
  ASSIGN_OR_RETURN(trial.config_sha256, TextOf(object, "config_sha256"));
  ASSIGN_OR_RETURN(const JsonValue seed, object.Get("seed"));
  ASSIGN_OR_RETURN(trial.seed, seed.Integer(0, kMostWhole));
  ASSIGN_OR_RETURN(trial.settings, ReadMemberTexts(object, "settings"));
  if (trial.settings.size() != axes) return object.Error("its settings are not those of the plan's axes");
  if (!IsFolderName(trial.name)) return object.Error("its name is not that of a trial");
  ASSIGN_OR_RETURN(const JsonValue files, object.Get("files"));
  ASSIGN_OR_RETURN(const int64_t set, files.Integer(0, static_cast<int64_t>(sets.size()) - 1));
  trial.files = sets[set];
  return trial;
}

absl::Status CheckAxes(const std::vector<std::string>& axes) {
  rl::Config config;
  config::FieldList fields;
  Visit(fields, config);
  for (const std::string& axis : axes) RETURN_IF_ERROR(config::FindByName(axis, fields).status());
  return absl::OkStatus();
}

absl::StatusOr<StoredPlan> Parse(absl::string_view text) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  const JsonValue root = document.root();
  StoredPlan plan;
  ASSIGN_OR_RETURN(plan.axes, ReadMemberTexts(root, "axes"));
  RETURN_IF_ERROR(CheckAxes(plan.axes));
  ASSIGN_OR_RETURN(const JsonValue compare, root.Get("compare"));
  ASSIGN_OR_RETURN(plan.compare, ParseCompare(compare));
  ASSIGN_OR_RETURN(const JsonValue trials, root.Get("trials"));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, trials.Elements());
  FileSets sets;
  ASSIGN_OR_RETURN(const JsonValue files, root.Get("files"));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> of_files, files.Elements());
  for (const JsonValue& element : of_files) {
    ASSIGN_OR_RETURN(sets.emplace_back(), ParseFiles(element));
  }
  std::set<std::string> names;
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(PlannedTrial trial, ParseTrial(element, plan.axes.size(), sets));
    if (!names.insert(trial.name).second) return element.Error("its name is that of another trial");
    plan.trials.push_back(std::move(trial));
  }
  return plan;
}

// The files at the paths of configurations, of which each is read once: most trials have the same model.
class PathDigests {
 public:
  // Returns the configuration's files, by name; none if one of them cannot be read.
  std::vector<ExternalFile> FilesOf(const rl::Config& config) {
    std::vector<ExternalFile> files;
    for (const rl::PathKey& key : rl::PathKeys()) {
      const absl::StatusOr<std::vector<ExternalFile>>& at_path = FilesAt(key, config);
      if (!at_path.ok()) return {};
      files.insert(files.end(), at_path->begin(), at_path->end());
    }
    std::sort(files.begin(), files.end(), [](const ExternalFile& a, const ExternalFile& b) { return a.name < b.name; });
    return files;
  }

 private:
  const absl::StatusOr<std::vector<ExternalFile>>& FilesAt(const rl::PathKey& key, rl::Config config) {
    const std::string place =
        absl::StrCat(key.section, ".", key.key, "\n", key.path(config), "\n", absl::StrJoin(key.files(config), "\n"));
    const auto known = known_.find(place);
    if (known != known_.end()) return known->second;
    const absl::StatusOr<std::vector<rl::ExternalFile>> read = rl::DigestFilesAt(key, config);
    if (!read.ok()) return known_.emplace(place, read.status()).first->second;
    std::vector<ExternalFile> files;
    for (const rl::ExternalFile& file : *read) files.push_back({file.name, file.sha256});
    return known_.emplace(place, std::move(files)).first->second;
  }

  std::map<std::string, absl::StatusOr<std::vector<ExternalFile>>> known_;
};

}  // namespace

StoredPlan MakeStoredPlan(const SweepPlan& plan) {
  StoredPlan stored = {.axes = plan.axes, .compare = plan.compare, .trials = {}};
  for (const Trial& trial : plan.trials) {
    const std::string text = StoredText(trial.config.config);
    stored.trials.push_back({.name = trial.name,
                             .arm = trial.arm,
                             .problem = ParseTrialProblem(text, {}),
                             .config_sha256 = ToHex(Sha256(text)),
                             .base = trial.base,
                             .seed = trial.config.config.run.seed,
                             .settings = trial.settings,
                             .named = trial.named,
                             .draw = trial.draw,
                             .varied = trial.varied});
  }
  return stored;
}

void SetFiles(const std::string& text, std::vector<ExternalFile> files, const std::vector<std::string>& axes,
              PlannedTrial* trial) {
  trial->files = std::move(files);
  trial->problem = ParseTrialProblem(text, trial->files);
  for (size_t k = 0; k < axes.size(); ++k) absl::StrAppend(&trial->settings[k], SettingSuffix(axes[k], trial->files));
}

std::string FirstOtherFile(const std::vector<ExternalFile>& a, const std::vector<ExternalFile>& b) {
  const auto first = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (first.first != a.end()) return first.first->name;
  return first.second != b.end() ? first.second->name : "";
}

void AddFiles(const SweepPlan& plan, StoredPlan* stored) {
  PathDigests digests;
  for (size_t i = 0; i < plan.trials.size(); ++i) {
    const rl::Config& config = plan.trials[i].config.config;
    SetFiles(StoredText(config), digests.FilesOf(config), plan.axes, &stored->trials[i]);
  }
}

std::string PlanText(const StoredPlan& plan) {
  const nlohmann::ordered_json compare = {{"metric", plan.compare.metric},
                                          {"summary", kSummaryNames[static_cast<size_t>(plan.compare.summary)]},
                                          {"greater_is_better", plan.compare.greater_is_better},
                                          {"confidence", plan.compare.confidence},
                                          {"resamples", plan.compare.resamples}};
  std::map<std::string, size_t> set_of_text;
  std::vector<size_t> set_of_trial;
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const PlannedTrial& trial : plan.trials) {
    nlohmann::ordered_json of_trial = nlohmann::ordered_json::array();
    for (const ExternalFile& file : trial.files) {
      of_trial.push_back({{"name", file.name}, {"sha256", ToHex(file.sha256)}});
    }
    const auto [at, is_new] = set_of_text.emplace(of_trial.dump(), set_of_text.size());
    if (is_new) files.push_back(std::move(of_trial));
    set_of_trial.push_back(at->second);
  }
  std::string text =
      absl::StrCat("{\"axes\": ", nlohmann::ordered_json(plan.axes).dump(), ",\n \"compare\": ", compare.dump(),
                   ",\n \"files\": ", files.dump(), ",\n \"trials\": [");
  for (size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& trial = plan.trials[i];
    const nlohmann::ordered_json line = {{"name", trial.name},
                                         {"variant", trial.arm},
                                         {"named", trial.named},
                                         {"draw", trial.draw},
                                         {"varied", trial.varied},
                                         {"base", trial.base},
                                         {"seed", trial.seed},
                                         {"settings", trial.settings},
                                         {"problem", trial.problem},
                                         {"files", set_of_trial[i]},
                                         {"config_sha256", trial.config_sha256}};
    absl::StrAppend(&text, i == 0 ? "\n  " : ",\n  ",
                    line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  return text + "\n ]}\n";
}

absl::StatusOr<StoredPlan> ParsePlan(absl::string_view text) {
  absl::StatusOr<StoredPlan> plan = Parse(text);
  if (!plan.ok()) return absl::DataLossError(absl::StrCat("the plan is damaged: ", plan.status().message()));
  return plan;
}

}  // namespace reprise
