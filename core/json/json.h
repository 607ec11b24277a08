#ifndef CORE_JSON_JSON_H_
#define CORE_JSON_JSON_H_

// Reads untrusted JSON. A document is parsed once (simdjson), duplicate keys and deep nesting are rejected, and every
// access to a value checks its type; an error names the value's place in the document. A byte order mark before the
// document is skipped. An integer beyond 64 bits is a number like one with a fraction: the nearest double. What other
// programs write and no value can hold (NaN, Infinity, a number beyond the range of a double, half a surrogate pair in
// a string) is an error of the value, once it is read, and not of the document.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise {

namespace internal {
struct UnreadableValue;
}

// A value and its JSON Pointer (RFC 6901: "/model/vocab"). Valid while its JsonDocument lives. Each accessor returns
// InvalidArgument "<place>: expected <type>, found <type>" when the value has another type, and "<place>: <reason>"
// when it is one that cannot be read.
class JsonValue {
 public:
  const std::string& place() const { return place_; }
  bool is_null() const;
  bool is_string() const;
  bool is_number() const;  // also of one beyond the range of a double; not of NaN
  bool is_array() const;
  bool is_object() const;

  absl::StatusOr<absl::string_view> String() const;
  absl::StatusOr<bool> Bool() const;
  absl::StatusOr<double> Number() const;
  // Returns an integer within [low, high]; a number with a fraction or an exponent is an error.
  absl::StatusOr<int64_t> Integer(int64_t low, int64_t high) const;
  absl::StatusOr<std::vector<JsonValue>> Elements() const;
  // In the order of the document.
  absl::StatusOr<std::vector<std::pair<absl::string_view, JsonValue>>> Members() const;

  // Returns the member named `key`, or nullopt if it is absent, if its value is null, or if this is not an object.
  std::optional<JsonValue> Find(absl::string_view key) const;
  // As Find, but InvalidArgument "<place>/<key> is missing" instead of nullopt.
  absl::StatusOr<JsonValue> Get(absl::string_view key) const;

  // InvalidArgument with the reason where no accessor can read the value.
  absl::Status Readable() const;

  // InvalidArgument "<place>: <sentence>"; the root's place is written "(root)".
  absl::Status Error(absl::string_view sentence) const;

 private:
  friend class JsonDocument;
  // The bits of a simdjson::dom::element, whose header takes longer to compile than most sources.
  struct Element {
    const void* document = nullptr;
    size_t index = 0;
  };

  // The values of a document that cannot be read, by their Element's index; null where there are none.
  using Unreadable = std::map<size_t, internal::UnreadableValue>;

  JsonValue(Element element, std::string place, const Unreadable* unreadable)
      : element_(element), place_(std::move(place)), unreadable_(unreadable) {}
  absl::Status WrongType(absl::string_view expected) const;
  const internal::UnreadableValue* FindUnreadable() const;

  Element element_;
  std::string place_;
  const Unreadable* unreadable_;
};

// Returns the byte offset of the first byte of `text` that is not UTF-8, else of the first syntax error, or text.size()
// if the text ends too early. Returns nullopt if `text` is JSON that Parse accepts or rejects for another reason.
std::optional<size_t> FindJsonError(absl::string_view text);

// The offset and the source text of a member's value in the outermost object: "19" with its quotation marks, 19, or the
// first character of an array or object. FindMember returns nullopt if there is no such member; Parse must accept
// `text`.
struct JsonToken {
  size_t offset = 0;
  std::string text;

  bool operator==(const JsonToken&) const = default;
};
std::optional<JsonToken> FindMember(absl::string_view text, absl::string_view key);

struct WrittenMember {
  std::string name;
  std::string name_token;  // in quotes; as `text` writes it where the name has half a surrogate pair
  std::string value;

  bool operator==(const WrittenMember&) const = default;
};
// Returns the members of the outermost object in their order, with their values as `text` writes them, with every
// digit, but without white space between tokens. Returns nullopt where `text` is no object; Parse must accept it.
std::optional<std::vector<WrittenMember>> MembersAsWritten(absl::string_view text);

// Whether an error of syntax says where in the document it is, or its caller does.
enum class JsonErrorPlace { kLineAndColumn, kLeftOut };

class JsonDocument {
 public:
  // InvalidArgument "not valid JSON at line 1, column 7: <sentence>" when `text` is not one JSON value in UTF-8, nests
  // deeper than 64, or repeats a key within an object; the sentence says what `text` is instead where that is known,
  // such as a pointer of Git LFS. Columns count bytes. Copies what it needs of `text`.
  static absl::StatusOr<JsonDocument> Parse(absl::string_view text,
                                            JsonErrorPlace place = JsonErrorPlace::kLineAndColumn);

  JsonValue root() const { return JsonValue(root_, "", unreadable_.get()); }

 private:
  JsonDocument() = default;

  std::shared_ptr<const void> parser_;  // simdjson's, which owns the values
  std::shared_ptr<const JsonValue::Unreadable> unreadable_;
  JsonValue::Element root_;
};

}  // namespace reprise

#endif  // CORE_JSON_JSON_H_
