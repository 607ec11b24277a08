#ifndef MODELS_SAFETENSORS_HEADER_H_
#define MODELS_SAFETENSORS_HEADER_H_

// The header of a safetensors file (https://github.com/huggingface/safetensors, "Format"). The file consists of the
// length n of a JSON object as eight bytes, little-endian; the object; and the tensors' bytes without holes:
//   {"__metadata__": {"format": "pt"}, "NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
// Offsets count from the first byte after the header.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/tensor.h"

namespace reprise::models {

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr size_t kMaxSafetensorsTensors = size_t{1} << 20;
inline constexpr size_t kMaxSafetensorsName = 1024;
inline constexpr size_t kMaxSafetensorsRank = 8;

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::string other_type;  // the element type's name where DType has no such; the tensor cannot be read then
  Shape shape;
  uint64_t begin = 0, end = 0;  // bytes from the start of the data
};

struct SafetensorsHeader {
  uint64_t data_start = 0;  // bytes from the start of the file
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  // sorted by offset; they cover the data exactly
};

// Parses the header at the start of `file`, which must be the whole file's bytes. Guarantees for each entry end - begin
// == elements * element size, unless it has another type than DType's, and that the entries tile [data_start,
// file.size()). As the format says, the header begins with { and may end with spaces; as in its reference
// implementation, white space may also come first, and other members of an entry are passed over. DataLoss if the file
// breaks a rule of the format, naming what it is instead where that is known (a pointer of Git LFS, GGUF, the text of
// an error).
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::Span<const std::byte> file);

// Returns the format's name of `dtype`: "F32", "BF16", ...
absl::string_view SafetensorsName(DType dtype);

}  // namespace reprise::models

#endif  // MODELS_SAFETENSORS_HEADER_H_
