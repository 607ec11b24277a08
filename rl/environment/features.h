#ifndef RL_ENVIRONMENT_FEATURES_H_
#define RL_ENVIRONMENT_FEATURES_H_

// Observations that are numbers, as text that a language model reads. After Gato (Reed et al., 2022, arXiv 2205.06175,
// section 2.1): a number x is companded by
//   y = sign(x) log(|x| mu + 1) / log(M mu + 1),   mu = 100, M = 256,
// cut to [-1, 1], and put into one of B bins of equal width there. The bin's number is what is written.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace reprise::rl {

inline constexpr int64_t kMostFeatures = 4096;

// y above, in [-1, 1]. x is finite. Pure, the same bits on every machine.
double Companded(double x);

// The bin of x, from 0 to bins - 1: floor((y + 1) / 2 * bins), and the last one for y = 1. Greater numbers are in no
// smaller bin. x is finite, bins at least 2.
int64_t FeatureBin(double x, int64_t bins);

// The numbers of all bins in decimal, with a space between them and a line's end behind the last: "8 12 0\n".
// InvalidArgument, saying which, for a feature that is not finite, and for none or more than kMostFeatures of them.
absl::StatusOr<std::string> FeatureText(absl::Span<const double> features, int64_t bins);

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_FEATURES_H_
