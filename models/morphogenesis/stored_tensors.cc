#include "models/morphogenesis/stored_tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

constexpr int64_t kLongestText = 256;

// The numbers of a seed's state as doubles. Writer and reader visit the same list of fields (VisitState), so that they
// cannot disagree.
class NumberWriter {
 public:
  template <typename T>
  void Number(const T& value) {
    numbers.push_back(static_cast<double>(value));
  }
  void Optional(const std::optional<double>& value) {
    numbers.push_back(value.has_value() ? 1 : 0);
    numbers.push_back(value.value_or(0));
  }

  std::vector<double> numbers;
};

class NumberReader {
 public:
  explicit NumberReader(absl::Span<const double> numbers) : numbers_(numbers) {}

  void Number(double& value) { value = Next(); }
  void Number(bool& value) { value = Within(0, 1) != 0; }
  void Number(int& value) { value = static_cast<int>(Within(0, std::numeric_limits<int>::max())); }
  void Number(int64_t& value) { value = static_cast<int64_t>(Within(0, 0x1p53)); }
  void Number(Stage& value) { value = static_cast<Stage>(static_cast<int>(Within(0, kNumStages - 1))); }
  void Optional(std::optional<double>& value) {
    const bool has = Within(0, 1) != 0;
    const double number = Next();
    value = has ? std::optional<double>(number) : std::nullopt;
  }

  bool ok() const { return ok_; }

 private:
  double Next() { return at_ < numbers_.size() ? numbers_[at_++] : 0; }
  double Within(double least, double most) {
    const double value = Next();
    const bool valid = value >= least && value <= most && std::floor(value) == value;
    ok_ = ok_ && valid;
    return valid ? value : least;
  }

  absl::Span<const double> numbers_;
  size_t at_ = 0;
  bool ok_ = true;
};

template <typename Metrics, typename Visitor>
void VisitMetrics(Metrics& m, Visitor& visitor) {
  visitor.Number(m.epochs_total);
  visitor.Number(m.epochs_in_current_stage);
  visitor.Number(m.initial_val_accuracy);
  visitor.Number(m.current_val_accuracy);
  visitor.Number(m.best_val_accuracy);
  visitor.Number(m.accuracy_at_stage_start);
  visitor.Optional(m.accuracy_at_blending_start);
  visitor.Number(m.has_baseline);
  visitor.Number(m.isolation_violations);
  visitor.Number(m.has_gradients);
  visitor.Number(m.gradient_norm_avg);
  visitor.Number(m.current_alpha);
  visitor.Number(m.alpha_ramp_step);
  visitor.Optional(m.counterfactual_contribution);
  visitor.Number(m.seed_gradient_norm_ratio);
}

template <typename State, typename Visitor>
void VisitState(State& s, Visitor& visitor) {
  visitor.Number(s.stage);
  visitor.Number(s.previous_stage);
  visitor.Number(s.previous_epochs_in_stage);
  visitor.Number(s.stage_entered_at);
  visitor.Number(s.alpha);
  visitor.Number(s.blending_steps_done);
  visitor.Number(s.blending_steps_total);
  visitor.Number(s.is_healthy);
  visitor.Number(s.is_paused);
  VisitMetrics(s.metrics, visitor);
}

std::vector<double> NumbersOf(const SeedState& seed) {
  NumberWriter writer;
  VisitState(seed, writer);
  return std::move(writer.numbers);
}

template <typename T>
void CopyTo(absl::Span<const T> values, Tensor* tensor) {
  std::copy(values.begin(), values.end(), tensor->mutable_data<T>().begin());
}

}  // namespace

void StoredTensorWriter::Floats(std::string name, Shape shape, const float* values) {
  Tensor tensor(std::move(name), DType::kF32, std::move(shape));
  CopyTo(absl::MakeConstSpan(values, static_cast<size_t>(tensor.size())), &tensor);
  tensors_.push_back(std::move(tensor));
}

void StoredTensorWriter::Doubles(std::string name, absl::Span<const double> values) {
  tensors_.emplace_back(std::move(name), DType::kF64, Shape{static_cast<int64_t>(values.size())});
  CopyTo(values, &tensors_.back());
}

void StoredTensorWriter::Integers(std::string name, absl::Span<const int64_t> values) {
  tensors_.emplace_back(std::move(name), DType::kI64, Shape{static_cast<int64_t>(values.size())});
  CopyTo(values, &tensors_.back());
}

void StoredTensorWriter::Text(std::string name, absl::string_view text) {
  tensors_.emplace_back(std::move(name), DType::kU8, Shape{static_cast<int64_t>(text.size())});
  std::copy(text.begin(), text.end(), tensors_.back().mutable_data<uint8_t>().begin());
}

void StoredTensorWriter::Seed(const std::string& prefix, const SeedState& seed) {
  Text(prefix + "id", seed.seed_id);
  Text(prefix + "blueprint", seed.blueprint_id);
  Doubles(prefix + "numbers", NumbersOf(seed));
  std::vector<int64_t> history = {static_cast<int64_t>(seed.stage_history.size())};
  for (const StageEntry& entry : seed.stage_history) {
    history.insert(history.end(), {static_cast<int64_t>(entry.stage), entry.epoch});
  }
  history.resize(1 + 2 * kMaxStageHistory);
  Integers(prefix + "history", history);
}

absl::StatusOr<StoredTensorReader> StoredTensorReader::Create(absl::Span<const TensorView> tensors) {
  StoredTensorReader reader;
  for (const TensorView& tensor : tensors) {
    if (!reader.tensors_.emplace(tensor.name, Entry{&tensor}).second) {
      return absl::FailedPreconditionError(absl::StrCat("a host's state has two tensors '", tensor.name, "'"));
    }
  }
  return reader;
}

absl::StatusOr<const TensorView*> StoredTensorReader::Find(const std::string& name, DType dtype, const Shape* shape) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return absl::FailedPreconditionError(absl::StrCat("a host's state has no tensor '", name, "'"));
  }
  const TensorView& view = *found->second.view;
  found->second.read = true;
  const bool fits = view.dtype == dtype && (shape == nullptr ? view.shape.size() == 1 : view.shape == *shape);
  if (fits && static_cast<int64_t>(view.bytes.size()) == view.size() * SizeOf(dtype)) return &view;
  return absl::FailedPreconditionError(absl::StrCat("tensor '", name, "' of a host's state is ", NameOf(view.dtype),
                                                    " ", ToString(view.shape), ", but should be ", NameOf(dtype), " ",
                                                    shape == nullptr ? "[n]" : ToString(*shape)));
}

absl::StatusOr<absl::Span<const float>> StoredTensorReader::Floats(const std::string& name, const Shape& shape) {
  ASSIGN_OR_RETURN(const TensorView* const view, Find(name, DType::kF32, &shape));
  return view->data<float>();
}

absl::StatusOr<absl::Span<const double>> StoredTensorReader::Doubles(const std::string& name, int64_t size) {
  const Shape shape = {size};
  ASSIGN_OR_RETURN(const TensorView* const view, Find(name, DType::kF64, &shape));
  return view->data<double>();
}

absl::StatusOr<absl::Span<const int64_t>> StoredTensorReader::Integers(const std::string& name, int64_t size) {
  const Shape shape = {size};
  ASSIGN_OR_RETURN(const TensorView* const view, Find(name, DType::kI64, &shape));
  return view->data<int64_t>();
}

absl::StatusOr<std::string> StoredTensorReader::Text(const std::string& name) {
  ASSIGN_OR_RETURN(const TensorView* const view, Find(name, DType::kU8, nullptr));
  if (view->size() > kLongestText) {
    return absl::DataLossError(absl::StrCat("text '", name, "' of a host's state has ", view->size(), " bytes"));
  }
  const absl::Span<const uint8_t> bytes = view->data<uint8_t>();
  return std::string(bytes.begin(), bytes.end());
}

absl::StatusOr<SeedState> StoredTensorReader::Seed(const std::string& prefix, const std::string& slot_id) {
  SeedState seed;
  seed.slot_id = slot_id;
  ASSIGN_OR_RETURN(seed.seed_id, Text(prefix + "id"));
  ASSIGN_OR_RETURN(seed.blueprint_id, Text(prefix + "blueprint"));
  ASSIGN_OR_RETURN(const absl::Span<const double> numbers,
                   Doubles(prefix + "numbers", static_cast<int64_t>(NumbersOf(seed).size())));
  ASSIGN_OR_RETURN(const absl::Span<const int64_t> history, Integers(prefix + "history", 1 + 2 * kMaxStageHistory));
  NumberReader reader(numbers);
  VisitState(seed, reader);
  bool ok = reader.ok() && history[0] >= 0 && history[0] <= kMaxStageHistory;
  for (int64_t i = 0; ok && i < history[0]; ++i) {
    const int64_t stage = history[2 * i + 1];
    ok = stage >= 0 && stage < kNumStages;
    seed.stage_history.push_back({static_cast<Stage>(stage), history[2 * i + 2]});
  }
  if (!ok) return absl::DataLossError(absl::StrCat("the seed '", seed.seed_id, "' of a host's state is damaged"));
  return seed;
}

absl::Status StoredTensorReader::ExpectAllRead() const {
  for (const auto& [name, entry] : tensors_) {
    if (!entry.read) {
      return absl::FailedPreconditionError(absl::StrCat("a host's state has a tensor '", name, "' that is unknown"));
    }
  }
  return absl::OkStatus();
}

}  // namespace reprise::models
