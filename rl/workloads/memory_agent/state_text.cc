#include "rl/workloads/memory_agent/state_text.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace reprise::rl {
namespace {

// Python writes an exponent where the first digit is that of 10^-5 or less, or of 10^16 or more.
constexpr int kLeastFixed = -4, kMostFixed = 15;

// Returns repr() of a float.
std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const std::to_chars_result end =
      std::to_chars(std::begin(buffer), std::end(buffer), std::fabs(value), std::chars_format::scientific);
  // "d.ddde+xx", or "de+xx" for one digit.
  const absl::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  const size_t unsigned_at = e + 1 + (text[e + 1] == '+' ? 1 : 0);
  std::from_chars(text.data() + unsigned_at, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, e));
  std::erase(digits, '.');
  const absl::string_view sign = std::signbit(value) ? "-" : "";
  if (exponent < kLeastFixed || exponent > kMostFixed) {
    const std::string fraction = digits.size() > 1 ? absl::StrCat(".", digits.substr(1)) : "";
    return absl::StrFormat("%s%c%se%c%02d", sign, digits[0], fraction, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return absl::StrCat(sign, "0.", std::string(static_cast<size_t>(-exponent - 1), '0'), digits);
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return absl::StrCat(sign, digits, std::string(whole - digits.size(), '0'), ".0");
  return absl::StrCat(sign, digits.substr(0, whole), ".", digits.substr(whole));
}

// Returns repr() of a text.
std::string TextRepr(absl::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string repr(1, quote);
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      repr += '\\';
      repr += c;
    } else if (c == '\n') {
      repr += "\\n";
    } else if (c == '\r') {
      repr += "\\r";
    } else if (c == '\t') {
      repr += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      repr += absl::StrFormat("\\x%02x", byte);
    } else {
      repr += c;
    }
  }
  return repr + quote;
}

struct Writer {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return FloatRepr(value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::string>& values) const {
    return absl::StrCat(
        "[",
        absl::StrJoin(values, ", ", [](std::string* out, const std::string& value) { out->append(TextRepr(value)); }),
        "]");
  }
};

}  // namespace

std::string PythonStr(const StateValue& value) { return std::visit(Writer(), value); }

std::string StateText(const AgentState& state) {
  return absl::StrJoin(state, "; ", [](std::string* out, const auto& pair) {
    absl::StrAppend(out, pair.first, ": ", PythonStr(pair.second));
  });
}

}  // namespace reprise::rl
