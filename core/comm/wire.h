#ifndef CORE_COMM_WIRE_H_
#define CORE_COMM_WIRE_H_

// Converts plain values to bytes, for messages between the ranks of one program, and back. Not a storage format: both
// ends are the same build, so a malformed message is a bug of this program (checked).

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status/check.h"

namespace reprise {

class WireWriter {
 public:
  template <typename T>
  void Put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  template <typename T>
  void PutArray(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    Put<int64_t>(static_cast<int64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void PutString(absl::string_view text) {
    Put<int64_t>(static_cast<int64_t>(text.size()));
    bytes_.append(text.data(), text.size());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    T value;
    std::memcpy(&value, Take(sizeof(T)), sizeof(T));
    return value;
  }
  template <typename T>
  std::vector<T> GetArray() {
    std::vector<T> values(static_cast<size_t>(Get<int64_t>()));
    if (!values.empty()) std::memcpy(values.data(), Take(values.size() * sizeof(T)), values.size() * sizeof(T));
    return values;
  }
  std::string GetString() {
    const size_t size = static_cast<size_t>(Get<int64_t>());
    return std::string(Take(size), size);
  }
  bool done() const { return bytes_.empty(); }

 private:
  const char* Take(size_t size) {
    CHECK_LE(size, bytes_.size());
    const char* const data = bytes_.data();
    bytes_.remove_prefix(size);
    return data;
  }
  absl::string_view bytes_;
};

}  // namespace reprise

#endif  // CORE_COMM_WIRE_H_
