#include "core/config/literal.h"

#include <array>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise::config {
namespace {

std::string OfDouble(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> digits;
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string text(digits.data(), end.ptr);
  const size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text.find('.') == std::string::npos ? text + ".0" : text;
  // to_chars pads exponents ("1e-06", "1e+20"); people write 1e-6 and 1e20.
  const bool negative = text[exponent + 1] == '-';
  const size_t first = text.find_first_not_of('0', exponent + 2);
  return absl::StrCat(text.substr(0, exponent), negative ? "e-" : "e", text.substr(first));
}

std::string Escaped(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return absl::StrFormat("\\u%04X", static_cast<unsigned char>(c));
  }
}

}  // namespace

std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (control || c == '"' || c == '\\') {
      quoted += Escaped(c);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Literal(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const int64_t* whole = std::get_if<int64_t>(&value)) return absl::StrCat(*whole);
  if (const double* number = std::get_if<double>(&value)) return OfDouble(*number);
  return Quoted(std::get<std::string>(value));
}

}  // namespace reprise::config
