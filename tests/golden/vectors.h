#ifndef TESTS_GOLDEN_VECTORS_H_
#define TESTS_GOLDEN_VECTORS_H_

// The reference vectors of one model: fwd_NAME.safetensors.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/safetensors/reader.h"

namespace reprise::golden {

class Vectors {
 public:
  // Opens the file of the golden set (core/testing/goldens.h) for `model`.
  static absl::StatusOr<Vectors> Open(const std::string& model);

  bool Has(const std::string& name) const { return file_.Find(name) != nullptr; }
  const Shape& FindShape(const std::string& name) const { return Get(name).shape; }
  // Returns the elements in row-major order; floats are widened. CHECKs that the tensor exists.
  std::vector<double> Doubles(const std::string& name) const;
  std::vector<int64_t> Integers(const std::string& name) const;
  double Scalar(const std::string& name) const { return Doubles(name)[0]; }

  // Returns the first `count` elements (-1: all) of row `row` of an integer matrix, as token ids.
  std::vector<int32_t> Tokens(const std::string& name, int64_t row, int64_t count = -1) const;
  // Returns input_ids without padding.
  std::vector<std::vector<int32_t>> Sequences() const;
  // Returns the number of columns of input_ids, including padding.
  int64_t PaddedLength() const { return FindShape("input_ids")[1]; }

 private:
  explicit Vectors(models::SafetensorsFile file) : file_(std::move(file)) {}
  const TensorView& Get(const std::string& name) const;

  models::SafetensorsFile file_;
};

}  // namespace reprise::golden

#endif  // TESTS_GOLDEN_VECTORS_H_
