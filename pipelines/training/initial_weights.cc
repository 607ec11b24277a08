#include "pipelines/training/initial_weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/config/field_list.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "models/olmoe/peft_directory.h"
#include "pipelines/stored/known_config.h"
#include "pipelines/stored/stored_weights.h"
#include "rl/config/config.h"
#include "rl/config/workload_traits.h"
#include "rl/run/prepare.h"
#include "rl/run/workloads.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise {
namespace {

struct Place {
  std::string path;
  int64_t step = 0;  // 0: the last
};

// If a file with the whole name exists, it is used even if its name contains @.
absl::StatusOr<Place> ParsePlace(const std::string& text) {
  ASSIGN_OR_RETURN(const bool is_file, Exists(PosixFileSystem(), text));
  const size_t at = text.rfind('@');
  if (is_file || at == std::string::npos) return Place{text, 0};
  if (at == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--init-from ", text, ": there is no run before the @; write RUN.h5 or RUN.h5@STEP"));
  }
  Place place = {text.substr(0, at), 0};
  if (absl::SimpleAtoi(text.substr(at + 1), &place.step) && place.step > 0) return place;
  return absl::InvalidArgumentError(
      absl::StrCat("--init-from ", text, ": the text after @ is not a training step; write RUN.h5 or RUN.h5@STEP"));
}

Digest DigestOf(const FlatLayout& layout, absl::Span<const float> weights) {
  Sha256Stream digest;
  for (const TensorView& tensor : ViewsOf(layout, weights)) digest.Update(tensor.bytes);
  return digest.Current();
}

// In hexadecimal; empty if the run starts from its own weights.
template <typename Files>
std::string DigestOfInitialWeights(const Files& files) {
  const auto found =
      std::find_if(files.begin(), files.end(), [](const auto& file) { return file.name == rl::kInitialWeightsName; });
  return found == files.end() ? std::string() : ToHex(found->sha256);
}

void WarnOfTrainedOn(const std::string& text, const StoredRun& run, int64_t step, const rl::Config& config,
                     rl::RunParts* parts) {
  if (config.evaluation.path.empty() && config.evaluation.held_out_share == 0) return;
  const auto [tasks, known] = parts->workload->CountHeldOut(config, PromptsUpTo(run, step), run.config.rollout);
  const std::vector<ExternalFile>& files = run.reader->header().external_files;
  const bool was_trained_before = std::any_of(files.begin(), files.end(), [](const ExternalFile& file) {
    return file.name == rl::kInitialWeightsName || file.name == rl::kModelTaskName;
  });
  if (known == 0 && was_trained_before) {
    parts->warnings.push_back(
        absl::StrCat("--init-from ", text,
                     ": that run started from weights that another run had trained, and whether on problems "
                     "that this one evaluates is not checked"));
  }
  if (known == 0) return;
  parts->warnings.push_back(absl::StrCat(
      "--init-from ", text, ": that run was trained on the prompts of ", known, " of the ", tasks,
      " problems that this one evaluates, so they are held out of this run alone: hold the same problems out of both "
      "(evaluation.held_out_share, evaluation.split_seed), or give others (evaluation.path)"));
}

// Returns whether both runs have the same files of a model, or none.
bool HasSameModel(const StoredRun& run, const rl::RunParts& parts) {
  std::map<std::string, std::string> theirs, ours;
  const auto is_model = [](absl::string_view name) {
    return absl::StartsWith(name, "model/") && name != rl::kModelTaskName;
  };
  for (const ExternalFile& file : run.reader->header().external_files) {
    if (is_model(file.name)) theirs[file.name] = ToHex(file.sha256);
  }
  for (const rl::ExternalFile& file : parts.external_files) {
    if (is_model(file.name)) ours[file.name] = ToHex(file.sha256);
  }
  return theirs == ours;
}

// The same tensors give another function if a key differs that does not affect shapes.
void WarnOfOtherModel(const std::string& text, const StoredRun& run, rl::Config config, rl::RunParts* parts) {
  rl::Config stored = run.config;
  // The keys of a model from a directory are there.
  const bool from_scratch = stored.model.path.empty() && config.model.path.empty();
  std::set<absl::string_view> of_training = {"router_aux_loss_coef"};
  // The weights of a frozen model follow from these.
  if (config.lora.r == 0) of_training.insert({"initializer_range", "weights_dtype"});
  config::FieldList theirs, ours;
  rl::Visit(theirs, stored);
  rl::Visit(ours, config);
  std::vector<std::string> keys;
  for (const config::Field& field : ours.fields()) {
    const bool of_model = from_scratch && field.section == "model" && !of_training.contains(field.key);
    const bool of_frozen =
        from_scratch && config.lora.r > 0 && field.Name() == "run.seed";  // its weights follow from it
    // A controller's actions name the blueprints of its task.
    const bool has_other_meaning = field.Name() == "lora.alpha" || field.Name() == "morphogenesis.task";
    if (!of_model && !of_frozen && !has_other_meaning) continue;
    if (theirs.Find(field.section, field.key)->Get() != field.Get()) keys.push_back(field.Name());
  }
  if (config.lora.r > 0 && !HasSameModel(run, *parts)) keys.push_back("model.path");
  if (keys.empty()) return;
  parts->warnings.push_back(absl::StrCat("--init-from ", text, ": that run has another ", absl::StrJoin(keys, ", "),
                                         ", so its weights have another meaning in this model"));
}

// Returns the layouts of the weights that the other run stores, and of those that this one begins with: a value
// function is loaded by a run with the same kind, and initialized in any other.
struct InitialLayouts {
  FlatLayout stored, taken;
};

absl::StatusOr<InitialLayouts> ReadLayouts(const rl::Config& stored_config, rl::Config config,
                                           const rl::Policy& policy) {
  config.algorithm = stored_config.algorithm;
  ASSIGN_OR_RETURN(const FlatLayout stored, rl::KindOf(config).layout(config));
  const bool same = rl::ListTensorNames(stored) == rl::ListTensorNames(policy.layout());
  return InitialLayouts{stored, same ? stored : policy.FrozenLayout()};
}

// A model directory is no run: its weights are those of model.path.
absl::Status RejectModelDirectory(const std::string& text, const rl::Config& config) {
  const auto has = [&](absl::string_view file) { return PosixFileSystem().Stat(JoinPath(text, file)).ok(); };
  if (!has("config.json") || has("run.h5") || has("epochs")) return absl::OkStatus();
  const bool takes_models = rl::Traits(config).has_language_model;
  return absl::InvalidArgumentError(
      absl::StrCat("--init-from ", text, ": this is a model directory, and no run: ",
                   takes_models ? absl::StrCat("--set model.path=", text, " starts from its weights")
                                : "give the run that it was exported from, RUN.h5 or RUN.h5@STEP"));
}

// Returns whether a directory has a file of the PEFT library, perhaps without the other one.
bool HasAdapters(const std::string& directory) {
  return std::any_of(std::begin(models::kAdapterFiles), std::end(models::kAdapterFiles),
                     [&](absl::string_view file) { return PosixFileSystem().Stat(JoinPath(directory, file)).ok(); });
}

// Takes the adapters of a directory of the PEFT library.
absl::Status TakeAdapters(const std::string& text, const rl::Config& config, rl::RunParts* parts) {
  RETURN_IF_ERROR(WithContext(parts->workload->TakeAdapters(text), "--init-from"));
  ASSIGN_OR_RETURN(const models::AdapterDescription adapters, models::ReadAdapterConfig(text));
  if (adapters.base_model != config.model.path) {
    parts->warnings.push_back(absl::StrCat(
        "--init-from ", text, ": these adapters belong to ",
        adapters.base_model.empty() ? "a model from scratch" : "the model " + Printable(adapters.base_model),
        ", but model.path is \"", config.model.path, "\": with another model they mean nothing"));
  }
  rl::Policy& policy = parts->workload->policy();
  policy.Refresh(*parts->pool);
  const FlatLayout layout = policy.FrozenLayout();  // without a value function
  parts->external_files.push_back({std::string(rl::kInitialWeightsName),
                                   DigestOf(layout, policy.parameters().first(static_cast<size_t>(layout.total)))});
  return absl::OkStatus();
}

}  // namespace

absl::Status TakeInitialWeights(const std::string& text, const rl::Config& config, rl::RunParts* parts) {
  if (HasAdapters(text)) return TakeAdapters(text, config, parts);
  RETURN_IF_ERROR(RejectModelDirectory(text, config));
  ASSIGN_OR_RETURN(const Place place, ParsePlace(text));
  ASSIGN_OR_RETURN(StoredRun run, OpenUninterpreted(place.path));
  ASSIGN_OR_RETURN(const std::vector<std::string> unknown, InterpretWeights(place.path, &run));
  if (!unknown.empty()) {
    parts->warnings.push_back(absl::StrCat(
        "--init-from ", text, ": of that run's configuration, this program does not know ",
        absl::StrJoin(unknown, ", "),
        "; its weights are taken as they are, and whether it was trained on problems that this run holds out is not "
        "checked; ",
        kWhereRevisionIs));
  }
  if (run.config.run.workload != config.run.workload) {
    return absl::FailedPreconditionError(absl::StrCat("--init-from ", text, ": that run has run.workload ",
                                                      run.config.run.workload, ", this one ", config.run.workload));
  }
  ASSIGN_OR_RETURN(const InitialLayouts layouts, ReadLayouts(run.config, config, parts->workload->policy()));
  const StepChoice choice = {place.step > 0 ? absl::StrCat(place.step) : ""};
  absl::StatusOr<ChosenWeights> chosen = ReadChosenWeights(choice, layouts.stored, &run);
  if (absl::IsFailedPrecondition(chosen.status())) {
    return absl::FailedPreconditionError(absl::StrCat("--init-from ", text, ": ", chosen.status().message(),
                                                      "; give this run the model of that one: its ",
                                                      rl::Traits(config).policy_keys));
  }
  if (!chosen.ok()) return WithContext(chosen.status(), absl::StrCat("--init-from ", text));
  std::vector<float>& weights = chosen->weights;
  weights.resize(static_cast<size_t>(layouts.taken.total));
  rl::Policy& policy = parts->workload->policy();
  std::copy(weights.begin(), weights.end(), policy.mutable_parameters().begin());
  policy.Refresh(*parts->pool);
  WarnOfOtherModel(text, run, config, parts);
  WarnOfTrainedOn(text, run, chosen->step, config, parts);
  parts->external_files.push_back({std::string(rl::kInitialWeightsName), DigestOf(layouts.taken, weights)});
  return absl::OkStatus();
}

absl::Status AgreeOnInitialWeights(Communicator& comm, const rl::RunParts& parts) {
  const std::string mine = DigestOfInitialWeights(parts.external_files);
  ASSIGN_OR_RETURN(const std::string first, BroadcastBytes(comm, 0, mine));
  return AgreeOk(comm, mine == first ? absl::OkStatus()
                                     : absl::UnavailableError("--init-from: the run continued while the ranks read it, "
                                                              "so they have different weights; try again"));
}

absl::Status CheckInitialWeights(const StoredRun& run, const rl::RunParts& parts) {
  const std::string stored = DigestOfInitialWeights(run.reader->header().external_files);
  const std::string given = DigestOfInitialWeights(parts.external_files);
  if (stored == given) return absl::OkStatus();
  if (stored.empty())
    return absl::FailedPreconditionError("the run did not start from another run's weights: remove --init-from");
  return absl::FailedPreconditionError(absl::StrCat(
      "the run started from weights of sha256 ", stored, given.empty() ? "" : ", not " + given,
      run.config.lora.r == 0
          ? "; give the run that they come from: --init-from RUN.h5 or RUN.h5@STEP"
          : "; give what they come from, a run or a directory of adapters: --init-from RUN.h5, RUN.h5@STEP "
            "or RUN/model/adapter"));
}

}  // namespace reprise
