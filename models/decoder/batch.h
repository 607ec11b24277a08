#ifndef MODELS_DECODER_BATCH_H_
#define MODELS_DECODER_BATCH_H_

// Packed sequences: rows without padding. A segment is a run of rows that see each other causally and, before them, the
// whole of their prefix segment: a group is its completions' segments, in sample order, then its prompt's segment,
// which is their prefix (the canonical row order: the prompt's keys have their gradients once all completions are
// done).

#include <cstdint>
#include <vector>

namespace reprise::models {

inline constexpr int64_t kNoPrefix = -1;
inline constexpr int64_t kOutsidePrefix = -2;  // the prompt of a group that was cut: see Forward's `outside`

struct Segment {
  int64_t begin = 0;  // first row
  int64_t rows = 0;
  int64_t prefix = kNoPrefix;  // index of a segment of the same batch, kNoPrefix or kOutsidePrefix
};

struct PackedBatch {
  std::vector<int32_t> token_T;
  std::vector<int32_t> position_T;
  std::vector<Segment> segments;  // in row order, without gaps

  int64_t rows() const { return static_cast<int64_t>(token_T.size()); }
  void Clear() {
    token_T.clear();
    position_T.clear();
    segments.clear();
  }
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_BATCH_H_
