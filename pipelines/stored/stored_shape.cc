#include "pipelines/stored/stored_shape.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "core/tensor/flat_layout.h"
#include "rl/config/workload_traits.h"
#include "rl/run/prepare.h"
#include "rl/run/stored_tensors.h"
#include "rl/run/workloads.h"

namespace reprise {
namespace {

constexpr int64_t kFewExperts = 100'000;  // whose names take some 50 MB

// Returns about how many bytes are in the file itself, of which each expert of a model that it stores takes some.
int64_t BytesIn(const RunReader& reader, const std::vector<CheckpointInfo>& checkpoints) {
  int64_t bytes = 0;
  for (const StreamInfo& stream : reader.streams()) {
    for (const int64_t column : stream.column_bytes) bytes += column;
  }
  for (const CheckpointInfo& checkpoint : checkpoints) {
    for (const std::string& name : checkpoint.tensors) bytes += static_cast<int64_t>(name.size());
    if (!checkpoint.is_external) bytes += checkpoint.bytes;
  }
  return bytes;
}

// Refuses a number of experts whose names alone would fill the memory. weights: those that are stored, or null.
absl::Status CheckExperts(const RunReader& reader, const rl::Config& config,
                          const std::vector<CheckpointInfo>& checkpoints, const CheckpointInfo* weights) {
  if (!rl::Traits(config).has_language_model) return absl::OkStatus();
  const int64_t experts = config.model.num_hidden_layers * config.model.num_experts;
  const bool stores_all = weights != nullptr && config.lora.r == 0;
  const int64_t most =
      stores_all ? static_cast<int64_t>(weights->tensors.size()) : std::max(BytesIn(reader, checkpoints), kFewExperts);
  if (experts <= most) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("its configuration describes a model of ", experts,
                                          " experts (model.num_hidden_layers ", config.model.num_hidden_layers,
                                          ", model.num_experts ", config.model.num_experts, "), but it holds ",
                                          stores_all ? "weights of at most " : "bytes for at most ", most));
}

}  // namespace

absl::Status CheckModelIsStored(const RunReader& reader, const rl::Config& config) {
  if (!config.model.path.empty()) return absl::OkStatus();
  const std::vector<CheckpointInfo> checkpoints = reader.checkpoints();
  const auto found = std::find_if(checkpoints.begin(), checkpoints.end(),
                                  [](const CheckpointInfo& info) { return info.group == rl::kWeightsGroup; });
  const CheckpointInfo* const weights = found == checkpoints.end() ? nullptr : &*found;
  RETURN_IF_ERROR(CheckExperts(reader, config, checkpoints, weights));
  if (weights == nullptr) return absl::OkStatus();
  const absl::StatusOr<FlatLayout> layout = rl::KindOf(config).layout(config);
  if (!layout.ok()) return absl::DataLossError(absl::StrCat("its configuration: ", layout.status().message()));
  int64_t bytes = 0;
  for (const ParameterSpec& spec : layout->specs) bytes += spec.size * static_cast<int64_t>(sizeof(float));
  if (bytes == weights->bytes && rl::ListTensorNames(*layout) == weights->tensors) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("its configuration describes a model of ", layout->specs.size(),
                                          " tensors with ", bytes, " bytes, but the weights that it stores are ",
                                          weights->tensors.size(), " tensors with ", weights->bytes, " bytes"));
}

}  // namespace reprise
