#include "core/tensor/flat_layout.h"

#include <utility>

#include "core/status/check.h"

namespace reprise {
namespace {

constexpr int64_t kAlignment = 16;  // floats: 64 bytes

}  // namespace

int FlatLayout::Append(std::string name, Shape shape, ParameterKind kind, bool by_rows) {
  const int64_t size = NumElements(shape);
  specs.push_back({std::move(name), std::move(shape), total, size, kind, by_rows});
  total += (size + kAlignment - 1) / kAlignment * kAlignment;
  return static_cast<int>(specs.size()) - 1;
}

std::vector<TensorView> ViewsOf(const FlatLayout& layout, absl::Span<const float> flat) {
  CHECK_EQ(static_cast<int64_t>(flat.size()), layout.total);
  std::vector<TensorView> tensors;
  for (const ParameterSpec& spec : layout.specs) {
    const auto values = flat.subspan(static_cast<size_t>(spec.offset), static_cast<size_t>(spec.size));
    tensors.push_back(
        {spec.name, DType::kF32, spec.shape,
         absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float))});
  }
  return tensors;
}

std::vector<TensorGroup> ViewsOf(const FlatLayout& layout, const std::vector<FlatGroup>& groups) {
  std::vector<TensorGroup> views;
  for (const FlatGroup& group : groups) views.push_back({group.name, ViewsOf(layout, group.values)});
  return views;
}

}  // namespace reprise
