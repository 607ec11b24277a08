#include "core/io/foreign_format.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/byte_order_mark.h"

namespace reprise {
namespace {

using absl::StartsWith;

bool IsWebPage(absl::string_view begin) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(begin);
  return absl::StartsWithIgnoreCase(text, "<!doctype html") || absl::StartsWithIgnoreCase(text, "<html");
}

// What compressed files begin with.
struct Compression {
  absl::string_view magic, name, command;
};
constexpr Compression kCompressions[] = {
    {"\x1f\x8b", "gzip", "gzip -d"},
    {{"\xfd"
      "7zXZ\0",
      6},
     "xz",
     "xz -d"},
    {"BZh", "bzip2", "bzip2 -d"},
    {"(\xb5/\xfd", "zstd", "zstd -d"},
    {"\x04\x22\x4d\x18", "lz4", "lz4 -d"},
    {"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x"},
};

// Returns the program that compressed the file, or null. "BZh", a digit and pi in hexadecimal digits begin a file of
// bzip2.
const Compression* FindCompression(absl::string_view begin) {
  for (const Compression& compression : kCompressions) {
    if (!StartsWith(begin, compression.magic)) continue;
    if (compression.name == "bzip2" && begin.substr(4, 6) != "1AY&SY") continue;
    return &compression;
  }
  return nullptr;
}

// A byte order mark, or two characters of ASCII in 32 bits each.
bool IsUtf32(absl::string_view begin) {
  constexpr absl::string_view kLittle("\xff\xfe\0\0", 4), kBig("\0\0\xfe\xff", 4), kZeros("\0\0\0", 3);
  if (StartsWith(begin, kLittle) || StartsWith(begin, kBig)) return true;
  if (begin.size() < 8) return false;
  const auto is_text = [&](size_t at) { return absl::ascii_isprint(static_cast<unsigned char>(begin[at])); };
  const auto is_zero = [&](size_t at) { return begin.substr(at, 3) == kZeros; };
  return (is_text(0) && is_zero(1) && is_text(4) && is_zero(5)) ||
         (is_zero(0) && is_text(3) && is_zero(4) && is_text(7));
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
  if (StartsWith(WithoutByteOrderMark(begin), "<?xml")) {
    return "this is an XML document, as a store of files answers a download that it refuses: download the file itself";
  }
  if (StartsWith(begin, "PK\x03\x04")) {
    return "this looks like a zip archive, as PyTorch's .bin and .pt files are: unpack it, or save weights as "
           "safetensors";
  }
  if (const Compression* const compression = FindCompression(begin)) {
    return absl::StrCat("this looks like a file compressed by ", compression->name, ": unpack it with ",
                        compression->command);
  }
  if (StartsWith(begin, "\x1e")) {
    return "this looks like a JSON text sequence (RFC 7464), whose values begin with the byte 0x1e: remove these, for "
           "example with tr -d '\\036' < FILE > CONVERTED";
  }
  if (StartsWith(begin, "PAR1")) {
    return "this looks like Parquet: convert it, for example in Python with "
           "pandas.read_parquet(\"FILE\").to_json(\"FILE.jsonl\", orient=\"records\", lines=True)";
  }
  if (StartsWith(begin, "\x89HDF\r\n\x1a\n")) return "this is an HDF5 file";
  if (begin.size() > 1 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5) {
    return "this looks like a Python pickle, which is not read: save weights as safetensors";
  }
  if (IsUtf32(begin)) {
    return "this looks like UTF-32: convert it, for example with iconv -f UTF-32 -t UTF-8 FILE > CONVERTED";
  }
  if (IsUtf16(begin)) {
    return "this looks like UTF-16: convert it, for example with iconv -f UTF-16 -t UTF-8 FILE > CONVERTED";
  }
  return "";
}

}  // namespace reprise
