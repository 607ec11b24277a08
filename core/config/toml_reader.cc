#include "core/config/toml_reader.h"

#include <toml++/toml.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/io/foreign_format.h"
#include "core/status/status_macros.h"

namespace reprise::config {
namespace {

constexpr int kMostLevels = 16;

Place PlaceOf(const toml::source_region& source) {
  return {static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

std::variant<Value, NotScalar> ValueOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return Value(text->get());
  if (const auto* whole = node.as_integer()) return Value(whole->get());
  if (const auto* number = node.as_floating_point()) return Value(number->get());
  if (const auto* truth = node.as_boolean()) return Value(truth->get());
  if (node.is_table()) return NotScalar{"a table"};
  if (node.is_array()) return NotScalar{"an array"};
  return NotScalar{"a date or a time"};
}

// Rewrites toml++'s descriptions of the most common errors.
std::string Explain(absl::string_view description) {
  if (absl::StrContains(description, "utf-8")) {
    return absl::StrCat(description,
                        "; if the text is Latin-1 (Windows-1252), convert it with iconv -f WINDOWS-1252 -t "
                        "UTF-8 FILE > CONVERTED");
  }
  const size_t twice = description.find("cannot redefine existing ");
  const size_t quote = description.find('\'');
  const size_t end = description.rfind('\'');
  if (twice != absl::string_view::npos && quote != absl::string_view::npos && end > quote) {
    const bool section = absl::StrContains(description, "parsing table header");
    return absl::StrCat(section ? "section " : "key ", description.substr(quote + 1, end - quote - 1),
                        " is given twice");
  }
  const bool is_word = absl::StrContains(description, "parsing boolean: expected 'true'") ||
                       absl::StrContains(description, "parsing boolean: expected 'false'") ||
                       absl::StrContains(description, "parsing floating-point: expected 'inf'") ||
                       absl::StrContains(description, "parsing floating-point: expected 'nan'");
  if (is_word || absl::StrContains(description, "could not determine value type")) {
    return "this is not a TOML value; text needs quotes, numbers and true or false do not";
  }
  absl::ConsumePrefix(&description, "Error while ");
  return absl::StrCat("not valid TOML: ", description);
}

// Returns the position after the string that begins at text[begin], which is a quote. A string without an end is not
// read beyond its line, or, in three quotes, beyond the text.
size_t EndOfString(absl::string_view text, size_t begin) {
  const char quote = text[begin];
  const std::string three(3, quote);
  const bool has_lines = text.substr(begin, 3) == three;
  for (size_t at = begin + (has_lines ? 3 : 1); at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;  // an escape
    } else if (!has_lines && (text[at] == quote || text[at] == '\n')) {
      return at + 1;
    } else if (has_lines && text.substr(at, 3) == three) {
      at += 3;
      while (at < text.size() && text[at] == quote) ++at;  // up to two quotes are the string's last characters
      return at;
    }
  }
  return text.size();
}

Place PlaceAt(absl::string_view text, size_t at) {
  const absl::string_view before = text.substr(0, at);
  const absl::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<int>(std::count_if(line.begin(), line.end(), begins_character))};
}

// A dotted key creates one nested table per dot, and toml++ frees them recursively: keys of few parts and toml++'s own
// limit of nested arrays and inline tables (256) bound the recursion.
absl::Status CheckKeys(absl::string_view text, absl::string_view file_name) {
  int dots = 0;  // of the current key
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = EndOfString(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (absl::StrContains("=,[]{}\n", c)) dots = 0;
    if (c == '.' && ++dots == kMostLevels) {
      return ErrorAt(file_name, PlaceAt(text, at), absl::StrCat("there are more than ", kMostLevels, " levels"));
    }
    ++at;
  }
  return absl::OkStatus();
}

absl::StatusOr<toml::table> Parse(absl::string_view text, absl::string_view file_name) {
  if (text.size() > kLongestToml) {
    return ErrorAt(
        file_name, {1, 1},
        absl::StrCat("the configuration has ", text.size(), " bytes; at most ", kLongestToml, " are allowed"));
  }
  if (const std::string foreign = ForeignFormat(text); !foreign.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, ": ", foreign));
  }
  RETURN_IF_ERROR(CheckKeys(text, file_name));
  try {
    return toml::parse(std::string_view(text.data(), text.size()));
  } catch (const toml::parse_error& error) {
    return ErrorAt(file_name, PlaceOf(error.source()), Explain(std::string(error.description())));
  } catch (const std::exception& error) {
    return ErrorAt(file_name, {1, 1}, absl::StrCat("cannot be read: ", error.what()));
  }
}

void AppendSection(const toml::key& name, const toml::table& section, std::vector<TomlEntry>& entries) {
  const std::string section_name(name.str());
  entries.push_back({TomlEntry::What::kSection, PlaceOf(name.source()), PlaceOf(section.source()), section_name,
                     /*key=*/"", Value(false)});
  for (const auto& [key, node] : section) {
    entries.push_back({TomlEntry::What::kKey, PlaceOf(key.source()), PlaceOf(node.source()), section_name,
                       std::string(key.str()), ValueOf(node)});
  }
}

// A table that is written by dotted keys alone has the place of its first member.
absl::StatusOr<TomlNode> TreeOf(const toml::node& node, absl::string_view file_name, int levels) {
  TomlNode tree = {.place = PlaceOf(node.source())};
  if (levels == kMostLevels) {
    return ErrorAt(file_name, tree.place, absl::StrCat("there are more than ", kMostLevels, " levels"));
  }
  if (const toml::array* array = node.as_array()) {
    tree.kind = TomlNode::Kind::kArray;
    for (const toml::node& element : *array) {
      ASSIGN_OR_RETURN(TomlNode child, TreeOf(element, file_name, levels + 1));
      tree.children.push_back(std::move(child));
    }
  } else if (const toml::table* table = node.as_table()) {
    tree.kind = TomlNode::Kind::kTable;
    for (const auto& [key, member] : *table) {
      ASSIGN_OR_RETURN(TomlNode child, TreeOf(member, file_name, levels + 1));
      child.key = std::string(key.str());
      child.key_place = PlaceOf(key.source());
      tree.children.push_back(std::move(child));
    }
    std::stable_sort(tree.children.begin(), tree.children.end(),
                     [](const TomlNode& a, const TomlNode& b) { return a.key_place < b.key_place; });
  } else if (const std::variant<Value, NotScalar> value = ValueOf(node); std::holds_alternative<Value>(value)) {
    tree.kind = TomlNode::Kind::kValue;
    tree.value = std::get<Value>(value);
  }
  return tree;
}

}  // namespace

const TomlNode* TomlNode::Find(absl::string_view name) const {
  for (const TomlNode& child : children) {
    if (kind == Kind::kTable && child.key == name) return &child;
  }
  return nullptr;
}

absl::StatusOr<TomlNode> ReadTomlTree(absl::string_view text, absl::string_view file_name) {
  ASSIGN_OR_RETURN(const toml::table root, Parse(text, file_name));
  return TreeOf(root, file_name, 0);
}

absl::Status ErrorAt(absl::string_view file_name, const Place& place, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(file_name, ":", place.line, ":", place.column, ": ", message));
}

absl::StatusOr<std::vector<TomlEntry>> ReadToml(absl::string_view text, absl::string_view file_name) {
  ASSIGN_OR_RETURN(const toml::table root, Parse(text, file_name));
  std::vector<TomlEntry> entries;
  for (const auto& [key, node] : root) {
    if (const toml::table* section = node.as_table()) {
      AppendSection(key, *section, entries);
    } else {
      entries.push_back({TomlEntry::What::kOutside, PlaceOf(key.source()), PlaceOf(node.source()), /*section=*/"",
                         std::string(key.str()), ValueOf(node)});
    }
  }
  // toml++ sorts keys by name; this restores the order of the text. A section written as a.b = 1 has b's line only.
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TomlEntry& a, const TomlEntry& b) { return a.place < b.place; });
  return entries;
}

absl::StatusOr<std::variant<Value, NotScalar>> ReadTomlValue(absl::string_view text) {
  ASSIGN_OR_RETURN(const toml::table root, Parse(absl::StrCat("value = ", text), ""));
  if (root.size() != 1) return absl::InvalidArgumentError("expected one value");
  return ValueOf(root.begin()->second);
}

}  // namespace reprise::config
