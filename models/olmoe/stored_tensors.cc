#include "models/olmoe/stored_tensors.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

absl::Status AddTensor(StoredTensor tensor, StoredTensors* stored) {
  const std::string name = tensor.view.name, path = tensor.path;
  const auto [at, is_new] = stored->by_name.try_emplace(name, std::move(tensor));
  if (is_new) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", name, " is also in ", at->second.path));
}

// Returns "a, b, c and 4 more".
std::string Listing(std::vector<std::string> names) {
  constexpr size_t kShown = 3;
  std::sort(names.begin(), names.end());
  const size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// Replaces the tensor `name`, if there is one, by those of `parts_EP`: of each expert the tensors that stand in it one
// below the other, as indices into the layout's specs.
absl::Status Split(const std::string& name, const std::vector<std::vector<int>>& parts_EP, const DecoderLayout& layout,
                   StoredTensors* stored) {
  const auto found = stored->by_name.find(name);
  if (found == stored->by_name.end()) return absl::OkStatus();
  const StoredTensor fused = std::move(found->second);
  stored->by_name.erase(found);
  const Shape& first = layout.specs[parts_EP[0][0]].shape;
  const int64_t parts = static_cast<int64_t>(parts_EP[0].size());
  const Shape expected = {static_cast<int64_t>(parts_EP.size()), parts * first[0], first[1]};
  if (fused.view.shape != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        fused.path, ": tensor ", name, " has shape ", ToString(fused.view.shape), "; config.json asks for ",
        ToString(expected), parts > 1 ? ", each expert's gate above its up" : ""));
  }
  const size_t bytes = fused.view.bytes.size() / (parts_EP.size() * static_cast<size_t>(parts));
  size_t begin = 0;
  for (const std::vector<int>& parts_P : parts_EP) {
    for (const int part : parts_P) {
      const ParameterSpec& spec = layout.specs[part];
      RETURN_IF_ERROR(AddTensor(
          {{spec.name, fused.view.dtype, spec.shape, fused.view.bytes.subspan(begin, bytes)}, fused.path}, stored));
      begin += bytes;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoredTensors> OpenTensors(const std::vector<std::string>& paths) {
  StoredTensors stored;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
    for (const TensorView& tensor : file.tensors()) RETURN_IF_ERROR(AddTensor({tensor, path}, &stored));
    for (const auto& [name, type] : file.unreadable()) stored.unreadable[name] = UnreadableTensor(path, name, type);
    stored.files.push_back(std::move(file));
  }
  return stored;
}

absl::Status SplitFusedExperts(const DecoderLayout& layout, StoredTensors* stored) {
  constexpr absl::string_view kFirstGate = "0.gate_proj.weight";
  for (const LayerParameters& layer : layout.layers) {
    if (layer.gate_E.empty() || layer.gate_E[0] < 0) continue;
    absl::string_view experts = layout.specs[layer.gate_E[0]].name;
    if (!absl::ConsumeSuffix(&experts, kFirstGate)) continue;
    std::vector<std::vector<int>> gate_up_EP, down_EP;
    for (size_t e = 0; e < layer.gate_E.size(); ++e) {
      gate_up_EP.push_back({layer.gate_E[e], layer.up_E[e]});
      down_EP.push_back({layer.down_E[e]});
    }
    RETURN_IF_ERROR(Split(absl::StrCat(experts, "gate_up_proj"), gate_up_EP, layout, stored));
    RETURN_IF_ERROR(Split(absl::StrCat(experts, "down_proj"), down_EP, layout, stored));
  }
  return absl::OkStatus();
}

void NameTiedEmbedding(const DecoderLayout& layout, StoredTensors* stored) {
  if (layout.lm_head < 0 || layout.lm_head != layout.embedding) return;
  const std::string& embedding = layout.specs[layout.embedding].name;
  const auto head = stored->by_name.find(kLmHeadName);
  if (head == stored->by_name.end() || stored->by_name.contains(embedding)) return;
  StoredTensor matrix = std::move(head->second);
  stored->by_name.erase(head);
  stored->by_name.emplace(embedding, std::move(matrix));
}

absl::Status RequireTheSameNames(const std::string& directory, const DecoderLayout& layout,
                                 const StoredTensors& stored) {
  std::vector<std::string> missing, extra;
  absl::flat_hash_set<absl::string_view> wanted;
  for (const ParameterSpec& spec : layout.specs) {
    wanted.insert(spec.name);
    if (stored.by_name.contains(spec.name)) continue;
    if (const auto found = stored.unreadable.find(spec.name); found != stored.unreadable.end()) return found->second;
    missing.push_back(spec.name);
  }
  const bool has_own_head = layout.lm_head >= 0 && layout.lm_head != layout.embedding;
  for (const auto& [name, tensor] : stored.by_name) {
    const bool ignored = absl::EndsWith(name, ".rotary_emb.inv_freq") || tensor.view.bytes.empty() ||
                         (!has_own_head && name == kLmHeadName);
    if (!ignored && !wanted.contains(name)) extra.push_back(name);
  }
  if (missing.empty() && extra.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      directory, ": the weights do not fit config.json: ", missing.empty() ? "" : "missing ", Listing(missing),
      missing.empty() || extra.empty() ? "" : "; ", extra.empty() ? "" : "unexpected ", Listing(extra)));
}

}  // namespace reprise::models
