#ifndef MODELS_DECODER_BATCH_H_
#define MODELS_DECODER_BATCH_H_

// Packed sequences: rows without padding. A segment is a range of rows that attend to each other causally, and to their
// prefix before them: another segment, or only the first rows of one, from which it then branches. A group is the
// segments of its completions, in sample order, and then the segment of its prompt, which is their prefix. (This is the
// canonical row order: the gradients of the prompt's keys are complete once all completions are done.)

#include <cstdint>
#include <vector>

namespace reprise::models {

inline constexpr int64_t kNoPrefix = -1;
inline constexpr int64_t kOutsidePrefix = -2;  // the prompt is in another batch: see Forward's `outside`
inline constexpr int64_t kWholePrefix = -1;

struct Segment {
  int64_t begin = 0;  // first row
  int64_t rows = 0;
  int64_t prefix = kNoPrefix;          // index of a segment of the same batch, kNoPrefix or kOutsidePrefix
  int64_t prefix_rows = kWholePrefix;  // the first rows of the prefix that it attends to
  int64_t copies = 1;                  // equal sequences that it stands for: load balancing counts its rows so often
};

struct PackedBatch {
  std::vector<int32_t> token_T;
  std::vector<int32_t> position_T;
  std::vector<Segment> segments;  // in row order, without gaps
  // The rows' seeds for the dropout of adapters (models/lora/dropout.h: DropoutSeedOf); empty: nothing is dropped.
  std::vector<uint64_t> dropout_T;

  int64_t rows() const { return static_cast<int64_t>(token_T.size()); }
  void Clear() {
    token_T.clear();
    position_T.clear();
    segments.clear();
    dropout_T.clear();
  }
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_BATCH_H_
