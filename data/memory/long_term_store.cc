#include "data/memory/long_term_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "data/memory/words.h"
#include "utf8proc.h"

namespace reprise::data {
namespace {

constexpr size_t kIdDigits = 16;

absl::Status CheckUtf8(absl::string_view what, absl::string_view text) {
  for (absl::string_view rest = text; !rest.empty();) {
    utf8proc_int32_t code = -1;
    const utf8proc_ssize_t size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()),
                                                   static_cast<utf8proc_ssize_t>(rest.size()), &code);
    if (size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " is not UTF-8 at byte ", text.size() - rest.size(), ": ", Quoted(text)));
    }
    rest.remove_prefix(static_cast<size_t>(size));
  }
  return absl::OkStatus();
}

absl::Status CheckSize(absl::string_view what, size_t bytes) {
  if (bytes <= kMostMemoryBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", bytes, " bytes, more than the limit of ", kMostMemoryBytes, "; store it in parts"));
}

// Checks everything but the content.
absl::Status CheckDescription(absl::string_view source, absl::string_view type, const MemoryMetadata& metadata) {
  RETURN_IF_ERROR(CheckUtf8("the memory's source", source));
  RETURN_IF_ERROR(CheckUtf8("the memory's type", type));
  size_t bytes = source.size() + type.size();
  for (const auto& [key, value] : metadata) {
    if (key.empty()) return absl::InvalidArgumentError("the memory's metadata have a key without a name");
    RETURN_IF_ERROR(CheckUtf8("a key of the memory's metadata", key));
    RETURN_IF_ERROR(CheckUtf8(absl::StrCat("the memory's metadata ", Quoted(key)), value));
    bytes += key.size() + value.size();
  }
  return CheckSize("the memory's description by source, type and metadata", bytes);
}

}  // namespace

std::string MemoryId(absl::string_view content) { return ToHex(Sha256(content)).substr(0, kIdDigits); }

absl::Status CheckMemoryText(absl::string_view what, absl::string_view text) {
  RETURN_IF_ERROR(CheckSize(what, text.size()));
  RETURN_IF_ERROR(CheckUtf8(what, text));
  if (WordsOf(text).empty()) return absl::InvalidArgumentError(absl::StrCat(what, " is empty; expected a text"));
  return absl::OkStatus();
}

absl::StatusOr<std::string> LongTermStore::Add(const NewMemory& memory, int64_t timestamp) {
  RETURN_IF_ERROR(CheckMemoryText("the memory's content", memory.content));
  RETURN_IF_ERROR(CheckDescription(memory.source, memory.type, memory.metadata));
  std::string id;
  RETURN_IF_ERROR(InTransaction([&] {
    absl::StatusOr<std::string> added = AddNow(memory, timestamp);
    if (added.ok()) id = *std::move(added);
    return added.status();
  }));
  return id;
}

absl::StatusOr<std::string> LongTermStore::AddNow(const NewMemory& memory, int64_t timestamp) {
  std::string id = MemoryId(memory.content);
  while (true) {
    ASSIGN_OR_RETURN(std::optional<MemoryEntry> entry, Find(id));
    if (!entry.has_value()) break;
    if (entry->content == memory.content) {
      RETURN_IF_ERROR(Merge(*std::move(entry), memory.metadata, timestamp));
      return id;
    }
    id = MemoryId(absl::StrCat(id, memory.content));
  }
  RETURN_IF_ERROR(Insert({id, memory.content, memory.source, memory.type, timestamp, memory.metadata}));
  return id;
}

absl::Status LongTermStore::Merge(MemoryEntry entry, const MemoryMetadata& metadata, int64_t timestamp) {
  for (const auto& [key, value] : metadata) entry.metadata[key] = value;
  RETURN_IF_ERROR(CheckDescription(entry.source, entry.type, entry.metadata));
  entry.timestamp = timestamp;
  return Replace(entry);
}

absl::Status LongTermStore::Update(absl::string_view id, absl::string_view content, const MemoryMetadata& metadata,
                                   int64_t timestamp) {
  RETURN_IF_ERROR(CheckMemoryText("the memory's content", content));
  return InTransaction([&]() -> absl::Status {
    ASSIGN_OR_RETURN(MemoryEntry entry, Known(id));
    entry.content = std::string(content);
    return Merge(std::move(entry), metadata, timestamp);
  });
}

absl::Status LongTermStore::Delete(absl::string_view id) {
  return InTransaction([&]() -> absl::Status {
    RETURN_IF_ERROR(Known(id).status());
    return Remove(id);
  });
}

absl::StatusOr<MemoryEntry> LongTermStore::Get(absl::string_view id) const { return Known(id); }

absl::StatusOr<MemoryEntry> LongTermStore::Known(absl::string_view id) const {
  ASSIGN_OR_RETURN(std::optional<MemoryEntry> entry, Find(id));
  if (entry.has_value()) return *std::move(entry);
  return absl::NotFoundError(
      absl::StrCat("no memory has the id ", Quoted(id), ": it was deleted, or is not one that an addition returned"));
}

}  // namespace reprise::data
