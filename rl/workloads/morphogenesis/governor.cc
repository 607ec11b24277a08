#include "rl/workloads/morphogenesis/governor.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

constexpr double kLobotomyMean = 0.6, kLobotomyDistance = 0.065;
constexpr size_t kKnownForDeviation = 2;  // losses without which there is no standard deviation

// Of the remembered losses; the standard deviation is that of the population.
struct Moments {
  double mean = 0, deviation = 0;
};

Moments MomentsOf(const std::deque<double>& history) {
  const double count = static_cast<double>(std::max<size_t>(1, history.size()));
  const double mean = kernels::TreeSum(std::vector<double>(history.begin(), history.end())) / count;
  std::vector<double> squares;
  for (const double loss : history) squares.push_back((loss - mean) * (loss - mean));
  return {mean, kernels::Sqrt(kernels::TreeSum(squares) / count)};
}

}  // namespace

absl::string_view Describe(PanicReason reason) {
  switch (reason) {
    case PanicReason::kNotFinite:
      return "the loss is not a number";
    case PanicReason::kLobotomy:
      return "the loss is that of a random guess";
    case PanicReason::kAnomalies:
      return "the loss was far above its mean";
  }
  return "";
}

std::optional<Panic> Governor::Check(double loss) {
  const auto panic = [&](PanicReason reason, double threshold) {
    const Panic result = {reason, loss, threshold, anomalies_};
    anomalies_ = 0;
    return result;
  };
  if (!std::isfinite(loss)) return panic(PanicReason::kNotFinite, 0);
  const Moments moments = MomentsOf(history_);
  const double guess = options_.random_guess;
  if (history_.size() >= kKnownLosses && moments.mean < kLobotomyMean * guess &&
      std::abs(loss - guess) < kLobotomyDistance * guess) {
    return panic(PanicReason::kLobotomy, 0);
  }
  const double threshold = std::max(
      {options_.absolute, moments.mean + options_.sigmas * moments.deviation, options_.multiplier * moments.mean});
  if (history_.size() >= kKnownForDeviation && loss > threshold) {
    if (++anomalies_ >= options_.consecutive) return panic(PanicReason::kAnomalies, threshold);
    return std::nullopt;
  }
  anomalies_ = 0;
  history_.push_back(loss);
  if (static_cast<int64_t>(history_.size()) > options_.window) history_.pop_front();
  return std::nullopt;
}

}  // namespace reprise::rl
