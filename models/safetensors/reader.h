#ifndef MODELS_SAFETENSORS_READER_H_
#define MODELS_SAFETENSORS_READER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/tensor.h"

namespace reprise::models {

// A safetensors file: its header is checked (models/safetensors/header.h), and its tensors are views of its bytes.
// Movable. Thread-safe once constructed. The bytes of a view may start at any address: read floats with
// ConvertToFloat32, and use TensorView::data only if header and offsets are known to be multiples of the element size
// (as those of our writer are).
class SafetensorsFile {
 public:
  // Maps the file into memory, or reads it where files cannot be mapped; it must not be truncated while it is open.
  // Errors begin with `path`: NotFound and other file errors, and those of ParseSafetensorsHeader.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);
  // Reads `bytes` instead, which must outlive the result and its views. Errors begin with `name`.
  static absl::StatusOr<SafetensorsFile> FromBytes(absl::Span<const std::byte> bytes, const std::string& name);

  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Returns the tensors in the order of their bytes, without the unreadable ones.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  // Returns the tensors with an element type that DType does not have, such as F8_E4M3: name and type.
  const std::map<std::string, std::string>& unreadable() const { return unreadable_; }
  // Returns null if there is no readable tensor of that name.
  const TensorView* Find(absl::string_view name) const;
  // The same, but NotFound "<path>: tensor <name> is missing" if there is none, Unimplemented if it is unreadable.
  absl::StatusOr<TensorView> Get(absl::string_view name) const;

 private:
  SafetensorsFile() = default;

  std::string path_;
  std::shared_ptr<const void> owner_;  // of the tensors' bytes; null for FromBytes
  std::map<std::string, std::string> metadata_, unreadable_;
  std::vector<TensorView> tensors_;
  absl::flat_hash_map<std::string, size_t> index_;
};

// Returns Unimplemented, which names the tensor and its element type.
absl::Status UnreadableTensor(absl::string_view path, absl::string_view name, absl::string_view type);

}  // namespace reprise::models

#endif  // MODELS_SAFETENSORS_READER_H_
