#include "tests/golden/vectors.h"

#include <cstring>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "core/testing/goldens.h"

namespace reprise::golden {
namespace {

// Copies the elements, because the bytes of a view may be unaligned.
template <typename T>
std::vector<T> Elements(const TensorView& tensor) {
  std::vector<T> elements(static_cast<size_t>(tensor.size()));
  std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
  return elements;
}

}  // namespace

absl::StatusOr<Vectors> Vectors::Open(const std::string& model) {
  ASSIGN_OR_RETURN(models::SafetensorsFile file,
                   models::SafetensorsFile::Open(testing::GoldensDirectory() + "/fwd_" + model + ".safetensors"));
  return Vectors(std::move(file));
}

const TensorView& Vectors::Get(const std::string& name) const {
  const TensorView* const tensor = file_.Find(name);
  if (tensor == nullptr) CHECK_EQ(name, "a tensor of the file");
  return *tensor;
}

std::vector<double> Vectors::Doubles(const std::string& name) const {
  const TensorView& tensor = Get(name);
  if (tensor.dtype == DType::kF64) return Elements<double>(tensor);
  CHECK(tensor.dtype == DType::kF32);
  const std::vector<float> floats = Elements<float>(tensor);
  return {floats.begin(), floats.end()};
}

std::vector<int64_t> Vectors::Integers(const std::string& name) const {
  const TensorView& tensor = Get(name);
  CHECK(tensor.dtype == DType::kI64);
  return Elements<int64_t>(tensor);
}

std::vector<int32_t> Vectors::Tokens(const std::string& name, int64_t row, int64_t count) const {
  const std::vector<int64_t> ids = Integers(name);
  const int64_t columns = FindShape(name).back();
  const auto begin = ids.begin() + row * columns;
  return {begin, begin + (count < 0 ? columns : count)};
}

std::vector<std::vector<int32_t>> Vectors::Sequences() const {
  std::vector<std::vector<int32_t>> sequences;
  for (int64_t length : Integers("lengths")) {
    sequences.push_back(Tokens("input_ids", static_cast<int64_t>(sequences.size()), length));
  }
  return sequences;
}

}  // namespace reprise::golden
