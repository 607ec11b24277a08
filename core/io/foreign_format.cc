#include "core/io/foreign_format.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace reprise {
namespace {

using absl::StartsWith;

bool IsWebPage(absl::string_view begin) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(begin);
  return absl::StartsWithIgnoreCase(text, "<!doctype html") || absl::StartsWithIgnoreCase(text, "<html");
}

// UTF-16 begins with a byte order mark, or every other byte of ASCII text is 0.
bool IsUtf16(absl::string_view begin) {
  if (StartsWith(begin, "\xff\xfe") || StartsWith(begin, "\xfe\xff")) return true;
  if (begin.size() < 4) return false;
  const auto is_text = [&](size_t first) {
    return absl::ascii_isprint(static_cast<unsigned char>(begin[first])) &&
           absl::ascii_isprint(static_cast<unsigned char>(begin[first + 2]));
  };
  const auto is_zero = [&](size_t first) { return begin[first] == '\0' && begin[first + 2] == '\0'; };
  return (is_text(0) && is_zero(1)) || (is_zero(0) && is_text(1));
}

// A length below 2^32 and the first character of a header. The length's first bytes may be those of another format.
bool IsSafetensors(absl::string_view begin) {
  return begin.size() > 8 && begin[8] == '{' && begin.substr(4, 4) == absl::string_view("\0\0\0\0", 4);
}

}  // namespace

std::string ForeignFormat(absl::string_view begin) {
  if (IsSafetensors(begin)) return "";
  if (StartsWith(begin, "version https://git-lfs.github.com/") ||
      StartsWith(begin, "version https://hawser.github.com/")) {
    return "this is a pointer of Git LFS, not the file itself: fetch the file with `git lfs pull` in its repository";
  }
  if (StartsWith(begin, "/annex/objects/")) {
    return "this is a pointer of git-annex, not the file itself: fetch the file with `git annex get`";
  }
  if (StartsWith(begin, "GGUF")) {
    return "this is a GGUF file, which is not read: use the model's directory in the format of Hugging Face "
           "(config.json, model.safetensors, tokenizer.json)";
  }
  if (IsWebPage(begin)) {
    return "this is a web page, as a download leaves that was answered by one: download the file itself";
  }
  if (StartsWith(begin, "PK\x03\x04")) {
    return "this looks like a zip archive, as PyTorch's .bin and .pt files are: unpack it, or save weights as "
           "safetensors";
  }
  if (StartsWith(begin, "\x1f\x8b") || StartsWith(begin, "(\xb5/\xfd")) {
    return "this looks like a compressed file: unpack it";
  }
  if (StartsWith(begin, "\x89HDF\r\n\x1a\n")) return "this is an HDF5 file";
  if (begin.size() > 1 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5) {
    return "this looks like a Python pickle, which is not read: save weights as safetensors";
  }
  if (IsUtf16(begin)) {
    return "this looks like UTF-16: convert it, for example with iconv -f UTF-16 -t UTF-8 FILE > CONVERTED";
  }
  return "";
}

}  // namespace reprise
