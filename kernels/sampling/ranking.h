#ifndef KERNELS_SAMPLING_RANKING_H_
#define KERNELS_SAMPLING_RANKING_H_

// Tokens in order of descending logit, ties by lowest index, sorted only as far as requested.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprise::kernels::internal {

// Memory that calls reuse; no call depends on its earlier contents.
struct RankingWorkspace {
  std::vector<float> block_maxima, weights;
  std::vector<uint64_t> keys;
};

// If a logit is NaN, places hold arbitrary tokens.
class Ranking {
 public:
  // Ranks z [n], whose maximum is `max`. `places` <= n is a lower bound on the places that will be requested. z and
  // workspace must outlive this.
  Ranking(int64_t n, const float* z, float max, int64_t places, RankingWorkspace* workspace);

  // Return the token at place i, and its weight e_v (weights.h). 0 <= i < n.
  int32_t Token(int64_t i) {
    if (i >= sorted_) SortUntil(i);
    return static_cast<int32_t>(workspace_.keys[i] & 0xffffffffu);
  }
  float Weight(int64_t i) {
    if (i >= sorted_) SortUntil(i);
    return workspace_.weights[i];
  }

 private:
  void Collect(int64_t places);
  void SortUntil(int64_t i);

  const int64_t n_;
  const float* const z_;
  const float max_;
  RankingWorkspace& workspace_;
  int64_t sorted_ = 0;
};

}  // namespace reprise::kernels::internal

#endif  // KERNELS_SAMPLING_RANKING_H_
