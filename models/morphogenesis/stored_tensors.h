#ifndef MODELS_MORPHOGENESIS_STORED_TENSORS_H_
#define MODELS_MORPHOGENESIS_STORED_TENSORS_H_

// A session's state as named tensors: writing them, and reading them without trust.

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/tensor.h"
#include "models/morphogenesis/life_cycle/seed_state.h"

namespace reprise::models {

class StoredTensorWriter {
 public:
  void Floats(std::string name, Shape shape, const float* values);
  void Doubles(std::string name, absl::Span<const double> values);
  void Integers(std::string name, absl::Span<const int64_t> values);
  void Text(std::string name, absl::string_view text);
  void Seed(const std::string& prefix, const SeedState& seed);

  std::vector<Tensor> Take() { return std::move(tensors_); }

 private:
  std::vector<Tensor> tensors_;
};

class StoredTensorReader {
 public:
  // FailedPrecondition: two tensors have one name.
  static absl::StatusOr<StoredTensorReader> Create(absl::Span<const TensorView> tensors);

  bool Has(const std::string& name) const { return tensors_.count(name) > 0; }
  // FailedPrecondition: there is no such tensor, or it has another type or shape. Spans are valid as long as the views.
  absl::StatusOr<absl::Span<const float>> Floats(const std::string& name, const Shape& shape);
  absl::StatusOr<absl::Span<const double>> Doubles(const std::string& name, int64_t size);
  absl::StatusOr<absl::Span<const int64_t>> Integers(const std::string& name, int64_t size);
  absl::StatusOr<std::string> Text(const std::string& name);  // at most 256 bytes
  // DataLoss: a stage or a number that no seed has.
  absl::StatusOr<SeedState> Seed(const std::string& prefix, const std::string& slot_id);

  // FailedPrecondition: a tensor was never read.
  absl::Status ExpectAllRead() const;

 private:
  struct Entry {
    const TensorView* view = nullptr;
    bool read = false;
  };

  absl::StatusOr<const TensorView*> Find(const std::string& name, DType dtype, const Shape* shape);

  std::map<std::string, Entry> tensors_;
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_STORED_TENSORS_H_
