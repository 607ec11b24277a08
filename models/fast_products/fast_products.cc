#include "models/fast_products/fast_products.h"

#include <x86intrin.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "ATen/Parallel.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/ops/addmm.h"
#include "ATen/ops/from_blob.h"
#include "ATen/ops/mm.h"
#include "c10/core/InferenceMode.h"
#include "models/fast_products/contest.h"

namespace reprise::models {
namespace {

// Calls oneDNN's linear operator of LibTorch: x [rows, k] times W [n, k] transposed.
at::Tensor OneDnnLinear(const at::Tensor& x, const at::Tensor& w) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                               c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
  static const auto linear =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Signature>();
  return linear.call(x, w, std::nullopt, "none", c10::List<std::optional<at::Scalar>>(), "");
}

at::Tensor PackForOneDnn(const at::Tensor& w) {
  using Signature = at::Tensor(const at::Tensor&, std::optional<int64_t>);
  static const auto reorder =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_reorder_linear_weight", "").typed<Signature>();
  constexpr int64_t kTypicalRows = 256;
  return reorder.call(w, kTypicalRows);
}

// Wraps a matrix as a tensor; LibTorch's operators do not write to their inputs.
at::Tensor View(const kernels::ConstRows& rows) {
  return at::from_blob(const_cast<float*>(rows.data), {rows.rows, rows.width}, {rows.stride, 1});
}

void CopyOut(const at::Tensor& from, const kernels::Rows& y) {
  const float* const data = from.const_data_ptr<float>();
  for (int64_t row = 0; row < y.rows; ++row) {
    std::memcpy(y[row], data + row * y.width, static_cast<size_t>(y.width) * sizeof(float));
  }
}

// Returns one thread's contest for a kind of product and a shape, with rows rounded to a power of two.
Contest& ContestOf(bool gradient, int64_t rows, int64_t n, int64_t k, int ways) {
  using Key = std::tuple<bool, int, int64_t, int64_t>;
  thread_local std::map<Key, Contest> contests;
  return contests.try_emplace({gradient, std::bit_width(static_cast<uint64_t>(rows)), n, k}, ways).first->second;
}

class FastProducts : public kernels::ProductSubstitute {
 public:
  void Product(const kernels::ConstRows& x, const float* packed, const kernels::Rows& y,
               const std::function<void()>& own) override {
    Contest& contest = ContestOf(/*gradient=*/false, x.rows, y.width, x.width, 2);
    const int way = contest.Next();
    if (way == 0 && contest.is_decided()) return own();
    const std::optional<at::Tensor> weights = WeightsAt(packed, y.width);
    if (!weights) return own();
    const uint64_t start = __rdtsc();
    if (way == 0) {
      own();
    } else {
      const Context context;
      CopyOut(OneDnnLinear(View(x), *weights), y);
    }
    contest.Took(__rdtsc() - start);
  }

  void WeightGradient(const kernels::ConstRows& dy, const kernels::ConstRows& x, bool anew, float* dw,
                      const std::function<void()>& own) override {
    Contest& contest = ContestOf(/*gradient=*/true, x.rows, dy.width, x.width, 3);
    const int way = contest.Next();
    const uint64_t start = __rdtsc();
    if (way == 0) {
      own();
    } else {
      const Context context;
      const at::Tensor left = View(dy).t(), right = View(x);
      at::Tensor sum = View({dw, dy.width, x.width});
      if (way == 1) {  // MKL adds in place
        anew ? at::mm_out(sum, left, right) : at::addmm_out(sum, sum, left, right);
      } else {
        const at::Tensor product = OneDnnLinear(left.contiguous(), right.t());
        anew ? sum.copy_(product) : sum.add_(product);
      }
    }
    contest.Took(__rdtsc() - start);
  }

  void Packed(const float* w, int64_t n, int64_t k, bool transposed, float* packed) override {
    if (IsUnused(packed)) return;
    const Context context;
    const at::Tensor plain = View({w, n, k});
    const at::Tensor weights = PackForOneDnn(transposed ? plain.t().contiguous() : plain);
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    Entry& entry = entries_[packed];
    entry.weights = weights;
    entry.outputs = transposed ? k : n;
    ++entry.times;
    entry.is_used.store(false, std::memory_order_relaxed);
  }

 private:
  // Created around every use of LibTorch: disables gradient tracking and LibTorch's own threads.
  struct Context {
    Context() {
      thread_local const bool is_single = (at::set_num_threads(1), true);
      (void)is_single;
    }
    c10::InferenceMode mode;
  };

  // A packed matrix.
  struct Entry {
    at::Tensor weights;
    int64_t outputs = 0;
    int64_t times = 0;                 // how often it was packed
    std::atomic<bool> is_used{false};  // since it was last packed
  };

  std::optional<at::Tensor> WeightsAt(const float* packed, int64_t outputs) {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto entry = entries_.find(packed);
    if (entry == entries_.end() || entry->second.outputs != outputs) return std::nullopt;
    entry->second.is_used.store(true, std::memory_order_relaxed);
    return entry->second.weights;
  }

  // Returns whether it lost all its contests, so that packing it would be a waste.
  bool IsUnused(const float* packed) {
    constexpr int64_t kTrials = 8;
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto entry = entries_.find(packed);
    return entry != entries_.end() && entry->second.times >= kTrials && !entry->second.is_used;
  }

  std::shared_mutex mutex_;
  std::unordered_map<const float*, Entry> entries_;
};

}  // namespace
}  // namespace reprise::models

extern "C" reprise::kernels::ProductSubstitute* RepriseFastProducts() {
  static auto* const products = new reprise::models::FastProducts;
  return products;
}
