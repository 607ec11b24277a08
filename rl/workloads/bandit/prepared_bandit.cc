#include "rl/workloads/bandit/prepared_bandit.h"

#include <memory>
#include <string>
#include <vector>

#include "core/status/status_macros.h"
#include "models/olmoe/model_directory.h"
#include "nlohmann/json.hpp"
#include "rl/algorithm/algorithm.h"
#include "rl/policy/categorical/categorical_policy.h"
#include "rl/workloads/bandit/bandit_record.h"
#include "rl/workloads/bandit/bandit_workload.h"
#include "rl/workloads/bandit/section/bandit_section.h"

namespace reprise::rl {
namespace {

absl::StatusOr<CategoricalShape> ShapeOf(const Config& config) {
  const BanditConfig& bandit = config.bandit;
  CategoricalShape shape;
  shape.features = bandit.features;
  shape.actions = bandit.actions;
  ASSIGN_OR_RETURN(shape.hidden, HiddenWidths(bandit));
  shape.activation =
      bandit.activation == BanditActivation::kTanh ? models::Activation::kTanh : models::Activation::kRelu;
  shape.layer_norm = bandit.layer_norm;
  const AlgorithmConfig& algorithm = config.algorithm;
  shape.has_values = NeedsValues(algorithm);
  return shape;
}

CategoricalPolicy InitialPolicy(const CategoricalShape& shape, const Config& config) {
  return CategoricalPolicy(shape, static_cast<uint64_t>(config.run.seed),
                           static_cast<float>(config.rollout.temperature));
}

// Writes the policy without its value function: model.safetensors, and its shape in config.json, which is written last.
absl::Status Save(const CategoricalPolicy& policy, absl::Span<const float> weights, FileSystem& files,
                  const std::string& directory) {
  const FlatLayout layout = policy.FrozenLayout();
  const CategoricalShape& shape = policy.shape();
  const nlohmann::ordered_json json = {{"model_type", "reprise_categorical_policy"},
                                       {"features", shape.features},
                                       {"actions", shape.actions},
                                       {"hidden", shape.hidden},
                                       {"activation", shape.activation == models::Activation::kTanh ? "tanh" : "relu"},
                                       {"layer_norm", shape.layer_norm}};
  return models::ExportNetwork(files, directory, layout, weights, json.dump(2) + "\n");
}

class PreparedBandit : public PreparedWorkload {
 public:
  PreparedBandit(const CategoricalShape& shape, const Config& config) : policy_(InitialPolicy(shape, config)) {}

  Policy& policy() const override { return policy_; }
  absl::StatusOr<std::unique_ptr<Workload>> Start(const WorkloadRun& run) override {
    return std::make_unique<BanditWorkload>(run, policy_);
  }

  absl::Status Export(FileSystem& files, const std::string& directory) const override {
    return Save(policy_, policy_.parameters(), files, directory);
  }

 private:
  mutable CategoricalPolicy policy_;
};

absl::Status Prepare(const Config& config, RunUse, RunParts* parts) {
  ASSIGN_OR_RETURN(const CategoricalShape shape, ShapeOf(config));
  parts->workload = std::make_unique<PreparedBandit>(shape, config);
  return absl::OkStatus();
}

absl::StatusOr<FlatLayout> ParametersOf(const Config& config) {
  ASSIGN_OR_RETURN(const CategoricalShape shape, ShapeOf(config));
  return MakeCategoricalLayout(shape);
}

absl::Status ExportWeights(const Config& config, absl::Span<const float> weights, FileSystem& files,
                           const std::string& directory) {
  ASSIGN_OR_RETURN(const CategoricalShape shape, ShapeOf(config));
  return Save(InitialPolicy(shape, config), weights, files, directory);
}

}  // namespace

constinit const WorkloadKind kBandit = {.name = "bandit",
                                        .prepare = Prepare,
                                        .schema = BanditSchema,
                                        .layout = ParametersOf,
                                        .export_weights = ExportWeights};

}  // namespace reprise::rl
