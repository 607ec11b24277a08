#include "rl/workloads/morphogenesis/prepared_growth.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/status/status_macros.h"
#include "models/morphogenesis/host_session.h"
#include "models/olmoe/model_directory.h"
#include "nlohmann/json.hpp"
#include "rl/algorithm/algorithm.h"
#include "rl/config/workload_traits.h"
#include "rl/policy/categorical/categorical_policy.h"
#include "rl/workloads/morphogenesis/growth_examples.h"
#include "rl/workloads/morphogenesis/growth_features.h"
#include "rl/workloads/morphogenesis/growth_record.h"
#include "rl/workloads/morphogenesis/growth_workload.h"
#include "rl/workloads/morphogenesis/section/morphogenesis_section.h"

namespace reprise::rl {
namespace {

absl::StatusOr<CategoricalShape> ShapeOf(const Config& config) {
  const MorphogenesisConfig& growth = config.morphogenesis;
  ASSIGN_OR_RETURN(const GrowthRules rules, GrowthRules::Of(config));
  ASSIGN_OR_RETURN(ControllerWidths widths, ParseControllerWidths(growth));
  const AlgorithmConfig& algorithm = config.algorithm;
  CategoricalShape shape;
  shape.features = NumGrowthFeatures(rules.actions.blueprints(), rules.has_telemetry);
  shape.actions = rules.actions.size();
  shape.trunk = std::move(widths.trunk);
  shape.hidden = std::move(widths.hidden);
  shape.has_values = NeedsValues(algorithm);
  shape.lstm = growth.lstm;
  shape.orthogonal = growth.orthogonal;
  shape.normalizes_features = growth.normalizes_features;
  shape.normalizes_entropy = growth.normalizes_entropy;
  return shape;
}

CategoricalPolicy InitialPolicy(const CategoricalShape& shape, const Config& config) {
  return CategoricalPolicy(shape, static_cast<uint64_t>(config.run.seed),
                           static_cast<float>(config.rollout.temperature));
}

// Writes the controller without its value function: model.safetensors, and its shape in config.json, which is written
// last.
absl::Status Save(const CategoricalPolicy& policy, const GrowthRules& rules, absl::Span<const float> weights,
                  FileSystem& files, const std::string& directory) {
  const FlatLayout layout = policy.FrozenLayout();
  const CategoricalShape& shape = policy.shape();
  std::vector<std::string> actions;
  for (int64_t action = 0; action < rules.actions.size(); ++action) actions.push_back(rules.actions.ActionName(action));
  const nlohmann::ordered_json json = {{"model_type", "reprise_growth_controller"},
                                       {"task", rules.task.name},
                                       {"features", shape.features},
                                       {"telemetry", rules.has_telemetry},
                                       {"actions", actions},
                                       {"trunk", shape.trunk},
                                       {"hidden", shape.hidden},
                                       {"lstm", shape.lstm},
                                       {"normalizes_features", shape.normalizes_features}};
  return models::ExportNetwork(files, directory, layout, weights, json.dump(2) + "\n");
}

class PreparedGrowth : public PreparedWorkload {
 public:
  PreparedGrowth(const CategoricalShape& shape, const Config& config, GrowthRules rules, GrowthExamples examples)
      : policy_(InitialPolicy(shape, config)), rules_(std::move(rules)), examples_(std::move(examples)) {}

  Policy& policy() const override { return policy_; }
  absl::StatusOr<std::unique_ptr<Workload>> Start(const WorkloadRun& run) override {
    return std::make_unique<GrowthWorkload>(run, policy_, rules_, examples_, EarnsByTurn(run.config));
  }

  absl::Status Export(FileSystem& files, const std::string& directory) const override {
    return Save(policy_, rules_, policy_.parameters(), files, directory);
  }

 private:
  mutable CategoricalPolicy policy_;
  const GrowthRules rules_;
  const GrowthExamples examples_;
};

}  // namespace

absl::Status PrepareGrowth(const Config& config, RunUse, RunParts* parts) {
  ASSIGN_OR_RETURN(const CategoricalShape shape, ShapeOf(config));
  ASSIGN_OR_RETURN(GrowthRules rules, GrowthRules::Of(config));
  ASSIGN_OR_RETURN(GrowthExamples examples,
                   GrowthExamples::Load(config.morphogenesis, static_cast<uint64_t>(config.run.seed), PosixFileSystem(),
                                        &parts->external_files));
  for (std::string& warning : MorphogenesisWarnings(config.morphogenesis, config.algorithm.update.num_iterations))
    parts->warnings.push_back(std::move(warning));
  // A host that cannot be is an error now, not in the first episode.
  RETURN_IF_ERROR(models::HostSession::Create(MakeSessionOptions(config.morphogenesis, rules), {}).status());
  parts->workload = std::make_unique<PreparedGrowth>(shape, config, std::move(rules), std::move(examples));
  return absl::OkStatus();
}

absl::StatusOr<FlatLayout> MakeGrowthLayout(const Config& config) {
  ASSIGN_OR_RETURN(const CategoricalShape shape, ShapeOf(config));
  return MakeCategoricalLayout(shape);
}

absl::Status ExportGrowth(const Config& config, absl::Span<const float> weights, FileSystem& files,
                          const std::string& directory) {
  ASSIGN_OR_RETURN(const CategoricalShape shape, ShapeOf(config));
  ASSIGN_OR_RETURN(const GrowthRules rules, GrowthRules::Of(config));
  return Save(InitialPolicy(shape, config), rules, weights, files, directory);
}

RecordSchema MakeGrowthSchema(const Config& config) { return GrowthSchema(config); }

}  // namespace reprise::rl
