#include "pipelines/sweeps/sweep_file.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/config/field_list.h"
#include "core/config/resolve.h"
#include "core/config/unknown_name.h"
#include "core/io/file_system.h"
#include "core/status/status_macros.h"
#include "rl/config/config.h"

namespace reprise {
namespace {

using config::Place;
using config::TomlNode;
using config::Value;
using Kind = TomlNode::Kind;

constexpr int64_t kMostDraws = 100'000;
constexpr size_t kLongestName = 40;

// A key of the configuration with what the file says about it.
struct KeyNode {
  const config::Field* field;
  Place place;
  const TomlNode* node;
};

absl::string_view KindText(const TomlNode& node) {
  switch (node.kind) {
    case Kind::kValue:
      return "a value";
    case Kind::kArray:
      return "an array";
    case Kind::kTable:
      return "a table";
    default:
      return "a date or a time";
  }
}

class Parser {
 public:
  explicit Parser(const std::string& path)
      : directory_(absl::StrContains(path, '/') ? DirectoryOf(path) : ""), name_(path) {
    Visit(fields_, scratch_);
  }

  absl::StatusOr<SweepFile> Parse(absl::string_view text);

 private:
  absl::Status Error(const Place& place, absl::string_view message) const {
    return config::ErrorAt(name_, place, message);
  }
  absl::Status CheckMembers(const TomlNode& table, absl::string_view what,
                            absl::Span<const absl::string_view> known) const;
  absl::Status Expect(const TomlNode& node, Kind kind, absl::string_view example) const;
  absl::StatusOr<std::vector<KeyNode>> KeysIn(const TomlNode& table) const;
  absl::StatusOr<KeyNode> ParseKey(const std::string& name, const TomlNode& node) const;
  absl::Status CheckIsSemantic(const KeyNode& key) const;
  absl::StatusOr<Value> ParseValue(const KeyNode& key, const TomlNode& node);
  absl::Status AddSettings(const TomlNode& table, bool with_execution, std::vector<Setting>* settings);
  absl::StatusOr<std::vector<Value>> ParseValues(const KeyNode& key, const TomlNode& array);
  absl::StatusOr<std::vector<Axis>> ParseAxes(const TomlNode& table);
  absl::StatusOr<DrawnKey> ParseDrawnKey(const KeyNode& key);
  absl::Status ReadRandom(const TomlNode& table);
  absl::StatusOr<int64_t> ParseInteger(const TomlNode& node, int64_t low, int64_t high) const;
  absl::StatusOr<std::string> ParsePath(const TomlNode& node) const;
  absl::Status ReadVariant(const TomlNode& table);
  absl::Status ReadVariants(const TomlNode& root);
  absl::Status ReadCompare(const TomlNode& table);
  absl::Status CheckVariedOnce() const;

  const std::string directory_, name_;
  rl::Config scratch_;  // values are stored in it to check them
  config::FieldList fields_;
  SweepFile file_;
};

absl::Status Parser::CheckMembers(const TomlNode& table, absl::string_view what,
                                  absl::Span<const absl::string_view> known) const {
  for (const TomlNode& member : table.children) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    if (what == "key" && fields_.HasSection(member.key)) {
      return Error(member.key_place, absl::StrCat(member.key, " is a section of a configuration: write [settings.",
                                                  member.key, "] for every trial, or [grid] for several values"));
    }
    return Error(member.key_place, UnknownName(what, member.key, known).message());
  }
  return absl::OkStatus();
}

absl::Status Parser::Expect(const TomlNode& node, Kind kind, absl::string_view example) const {
  if (node.kind == kind) return absl::OkStatus();
  return Error(node.place, absl::StrCat(node.key.empty() ? "an element of the list" : node.key, " is ", KindText(node),
                                        "; expected ", example));
}

absl::StatusOr<KeyNode> Parser::ParseKey(const std::string& name, const TomlNode& node) const {
  const absl::StatusOr<const config::Field*> field = config::FindByName(name, fields_);
  if (!field.ok()) return Error(node.key_place, field.status().message());
  return KeyNode{*field, node.key_place, &node};
}

// Keys are written `section.key = ...` or below [...section].
absl::StatusOr<std::vector<KeyNode>> Parser::KeysIn(const TomlNode& table) const {
  std::vector<KeyNode> keys;
  for (const TomlNode& section : table.children) {
    if (section.kind != Kind::kTable || absl::StrContains(section.key, '.')) {
      ASSIGN_OR_RETURN(const KeyNode key, ParseKey(section.key, section));
      keys.push_back(key);
      continue;
    }
    if (!fields_.HasSection(section.key)) {
      return Error(section.key_place, fields_.UnknownSection(section.key).message());
    }
    for (const TomlNode& member : section.children) {
      ASSIGN_OR_RETURN(const KeyNode key, ParseKey(absl::StrCat(section.key, ".", member.key), member));
      keys.push_back(key);
    }
  }
  return keys;
}

absl::Status Parser::CheckIsSemantic(const KeyNode& key) const {
  if (key.field->kind == config::Kind::kSemantic) return absl::OkStatus();
  return Error(key.place, absl::StrCat(key.field->Name(),
                                       " changes no bit of a run, so that trials cannot differ in it: set it in "
                                       "[settings], or by --set"));
}

absl::StatusOr<Value> Parser::ParseValue(const KeyNode& key, const TomlNode& node) {
  if (node.kind != Kind::kValue) {
    return Error(node.place, config::Mismatch(*key.field, KindText(node), key.field->TypeText()).message());
  }
  absl::StatusOr<Value> value = key.field->Accept(node.value);
  if (!value.ok()) return Error(node.place, value.status().message());
  return value;
}

absl::Status Parser::AddSettings(const TomlNode& table, bool with_execution, std::vector<Setting>* settings) {
  ASSIGN_OR_RETURN(const std::vector<KeyNode> keys, KeysIn(table));
  for (const KeyNode& key : keys) {
    if (!with_execution) RETURN_IF_ERROR(CheckIsSemantic(key));
    ASSIGN_OR_RETURN(Value value, ParseValue(key, *key.node));
    settings->push_back({key.field->Name(), std::move(value), key.node->place});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> Parser::ParseValues(const KeyNode& key, const TomlNode& array) {
  if (array.children.empty()) {
    return Error(array.place, absl::StrCat(key.field->Name(), " has no values: give one or more"));
  }
  std::vector<Value> values;
  for (const TomlNode& element : array.children) {
    ASSIGN_OR_RETURN(Value value, ParseValue(key, element));
    if (std::find(values.begin(), values.end(), value) != values.end()) {
      return Error(element.place,
                   absl::StrCat(key.field->Name(), " has the value ", config::Literal(value), " twice: remove one"));
    }
    values.push_back(std::move(value));
  }
  return values;
}

absl::StatusOr<std::vector<Axis>> Parser::ParseAxes(const TomlNode& table) {
  RETURN_IF_ERROR(Expect(table, Kind::kTable, "a table, as [grid]"));
  ASSIGN_OR_RETURN(const std::vector<KeyNode> keys, KeysIn(table));
  if (keys.empty()) {
    return Error(table.key_place, "the grid is empty: give it keys with lists of values, as run.seed = [1, 2, 3]");
  }
  std::vector<Axis> axes;
  for (const KeyNode& key : keys) {
    RETURN_IF_ERROR(CheckIsSemantic(key));
    if (key.node->kind != Kind::kArray) {
      return Error(key.node->place, absl::StrCat(key.field->Name(), " is ", KindText(*key.node),
                                                 "; expected a list of values, as [1, 2, 3]"));
    }
    ASSIGN_OR_RETURN(std::vector<Value> values, ParseValues(key, *key.node));
    axes.push_back({key.field->Name(), key.place, std::move(values)});
  }
  return axes;
}

absl::StatusOr<int64_t> Parser::ParseInteger(const TomlNode& node, int64_t low, int64_t high) const {
  const int64_t* const value = node.kind == Kind::kValue ? std::get_if<int64_t>(&node.value) : nullptr;
  if (value != nullptr && *value >= low && *value <= high) return *value;
  return Error(node.place, absl::StrCat(node.key, " must be a whole number from ", low, " to ", high));
}

absl::StatusOr<DrawnKey> Parser::ParseDrawnKey(const KeyNode& key) {
  DrawnKey drawn = {.key = key.field->Name(), .place = key.place};
  const TomlNode& node = *key.node;
  if (node.kind == Kind::kArray) {
    ASSIGN_OR_RETURN(drawn.choices, ParseValues(key, node));
    return drawn;
  }
  const TomlNode *const low = node.Find("low"), *const high = node.Find("high"), *const scale = node.Find("scale");
  if (node.kind != Kind::kTable || low == nullptr || high == nullptr) {
    return Error(
        node.place,
        absl::StrCat(drawn.key, ": expected a range, as {low = 1e-5, high = 1e-3, scale = \"log\"}, or a list"));
  }
  RETURN_IF_ERROR(CheckMembers(node, "member of a range", {"low", "high", "scale"}));
  double* const bounds[] = {&drawn.low, &drawn.high};
  for (const TomlNode* const bound : {low, high}) {
    ASSIGN_OR_RETURN(const Value value, ParseValue(key, *bound));
    drawn.is_whole = std::holds_alternative<int64_t>(value);
    if (!drawn.is_whole && !std::holds_alternative<double>(value)) {
      return Error(bound->place, absl::StrCat(drawn.key, " is no number: give a list of its values"));
    }
    *bounds[bound == high ? 1 : 0] =
        drawn.is_whole ? static_cast<double>(std::get<int64_t>(value)) : std::get<double>(value);
  }
  if (drawn.low >= drawn.high) return Error(high->place, absl::StrCat(drawn.key, ": high must be greater than low"));
  if (scale == nullptr) return drawn;
  const std::string* const text = scale->kind == Kind::kValue ? std::get_if<std::string>(&scale->value) : nullptr;
  if (text == nullptr || (*text != "log" && *text != "linear")) {
    return Error(scale->place, "scale must be \"linear\" or \"log\"");
  }
  drawn.is_log = *text == "log";
  if (drawn.is_log && drawn.low <= 0) {
    return Error(low->place, absl::StrCat(drawn.key, ": low must be more than 0 where the scale is \"log\""));
  }
  return drawn;
}

absl::Status Parser::ReadRandom(const TomlNode& table) {
  RETURN_IF_ERROR(Expect(table, Kind::kTable, "a table, as [random]"));
  const TomlNode* const count = table.Find("count");
  if (count == nullptr) return Error(table.key_place, "[random] has no count: say how many draws, as count = 20");
  ASSIGN_OR_RETURN(file_.draws, ParseInteger(*count, 1, kMostDraws));
  file_.drawn_place = count->place;
  TomlNode keys = table;
  std::erase_if(keys.children, [](const TomlNode& node) { return node.key == "count" || node.key == "seed"; });
  if (const TomlNode* const seed = table.Find("seed")) {
    ASSIGN_OR_RETURN(file_.draw_seed, ParseInteger(*seed, 0, std::numeric_limits<int64_t>::max()));
  }
  // A key within a section is a range; a range written below [random.section.key] is the same.
  ASSIGN_OR_RETURN(const std::vector<KeyNode> ranges, KeysIn(keys));
  if (ranges.empty()) return Error(table.key_place, "[random] draws nothing: give keys with ranges or lists");
  for (const KeyNode& key : ranges) {
    RETURN_IF_ERROR(CheckIsSemantic(key));
    ASSIGN_OR_RETURN(DrawnKey drawn, ParseDrawnKey(key));
    file_.drawn.push_back(std::move(drawn));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Parser::ParsePath(const TomlNode& node) const {
  const std::string* const text = node.kind == Kind::kValue ? std::get_if<std::string>(&node.value) : nullptr;
  if (text == nullptr || text->empty()) {
    return Error(node.place, "config must be the path of a configuration, relative to this file");
  }
  return absl::StartsWith(*text, "/") ? *text : JoinPath(directory_, *text);
}

absl::Status Parser::ReadVariant(const TomlNode& table) {
  RETURN_IF_ERROR(Expect(table, Kind::kTable, "a table, as [[variants]]"));
  Variant variant = {.place = table.place};
  TomlNode settings = table;
  std::erase_if(settings.children,
                [](const TomlNode& node) { return node.key == "name" || node.key == "config" || node.key == "grid"; });
  const TomlNode* const name = table.Find("name");
  if (name == nullptr) return Error(table.place, "the variant has no name: give it one, as name = \"rloo\"");
  const std::string* const text = name->kind == Kind::kValue ? std::get_if<std::string>(&name->value) : nullptr;
  const auto is_allowed = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (text == nullptr || text->empty() || text->size() > kLongestName ||
      !std::all_of(text->begin(), text->end(), is_allowed)) {
    return Error(name->place, absl::StrCat("name must be 1 to ", kLongestName, " letters, digits and underscores"));
  }
  variant.name = *text;
  for (const Variant& other : file_.variants) {
    if (other.name == variant.name) return Error(name->place, absl::StrCat("two variants are named ", variant.name));
  }
  if (const TomlNode* const config = table.Find("config")) {
    ASSIGN_OR_RETURN(variant.config_path, ParsePath(*config));
    variant.config_place = config->place;
  }
  if (const TomlNode* const grid = table.Find("grid")) {
    ASSIGN_OR_RETURN(variant.axes, ParseAxes(*grid));
  }
  RETURN_IF_ERROR(AddSettings(settings, /*with_execution=*/false, &variant.settings));
  file_.variants.push_back(std::move(variant));
  return absl::OkStatus();
}

// The base configuration, common settings and variants. A variant without a configuration has the base.
absl::Status Parser::ReadVariants(const TomlNode& root) {
  std::string base;
  const TomlNode* const config = root.Find("config");
  if (config != nullptr && config->kind == Kind::kTable) {
    RETURN_IF_ERROR(AddSettings(*config, /*with_execution=*/true, &file_.settings));
  } else if (config != nullptr) {
    ASSIGN_OR_RETURN(base, ParsePath(*config));
  }
  if (const TomlNode* const settings = root.Find("settings")) {
    RETURN_IF_ERROR(Expect(*settings, Kind::kTable, "a table, as [settings]"));
    RETURN_IF_ERROR(AddSettings(*settings, /*with_execution=*/true, &file_.settings));
  }
  const TomlNode* const variants = root.Find("variants");
  if (variants == nullptr) {
    file_.variants.push_back({.config_path = base, .config_place = config == nullptr ? Place() : config->place});
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Expect(*variants, Kind::kArray, "tables, as [[variants]]"));
  if (variants->children.empty())
    return Error(variants->key_place, "there are no variants: give one, or remove the list");
  for (const TomlNode& variant : variants->children) RETURN_IF_ERROR(ReadVariant(variant));
  for (Variant& variant : file_.variants) {
    if (!variant.config_path.empty() || base.empty()) continue;
    variant.config_path = base;
    variant.config_place = config->place;
  }
  return absl::OkStatus();
}

absl::Status Parser::ReadCompare(const TomlNode& table) {
  RETURN_IF_ERROR(Expect(table, Kind::kTable, "a table, as [compare]"));
  CompareOptions& compare = file_.compare;
  RETURN_IF_ERROR(
      CheckMembers(table, "key of [compare]", {"metric", "summary", "greater_is_better", "confidence", "resamples"}));
  for (const TomlNode& node : table.children) {
    RETURN_IF_ERROR(Expect(node, Kind::kValue, "one value"));
    const std::string* const text = std::get_if<std::string>(&node.value);
    if (node.key == "metric") {
      if (text == nullptr || text->empty())
        return Error(node.place, "metric must be the name of a metric, as \"reward\"");
      compare.metric = *text;
      file_.metric_place = node.place;
    } else if (node.key == "summary") {
      const absl::StatusOr<Summary> summary =
          ParseName<Summary>("summary", text == nullptr ? config::Literal(node.value) : *text, kSummaryNames);
      if (!summary.ok()) return Error(node.place, summary.status().message());
      compare.summary = *summary;
    } else if (node.key == "greater_is_better") {
      const bool* const truth = std::get_if<bool>(&node.value);
      if (truth == nullptr) return Error(node.place, "greater_is_better must be true or false");
      compare.greater_is_better = *truth;
    } else if (node.key == "confidence") {
      const double* const number = std::get_if<double>(&node.value);
      if (number == nullptr || !(*number >= 0.5 && *number <= 0.999)) {
        return Error(node.place, "confidence must be a number from 0.5 to 0.999");
      }
      compare.confidence = *number;
    } else {
      ASSIGN_OR_RETURN(compare.resamples, ParseInteger(node, 100, 100'000));
    }
  }
  return absl::OkStatus();
}

// A key that is varied in two places would have the value of the later one.
absl::Status Parser::CheckVariedOnce() const {
  std::map<std::string, absl::string_view> varied;
  for (const DrawnKey& drawn : file_.drawn) varied[drawn.key] = "[random]";
  for (const Axis& axis : file_.axes) {
    if (varied.contains(axis.key)) {
      return Error(axis.place, absl::StrCat(axis.key, " is varied in [random] as well: remove one"));
    }
    varied[axis.key] = "[grid]";
  }
  for (const Setting& setting : file_.settings) {
    if (!varied.contains(setting.key)) continue;
    return Error(setting.place,
                 absl::StrCat("[settings] sets ", setting.key, ", which ", varied[setting.key], " varies: remove one"));
  }
  for (const Variant& variant : file_.variants) {
    std::map<std::string, absl::string_view> own = varied;
    for (const Axis& axis : variant.axes) {
      if (own.contains(axis.key)) {
        return Error(axis.place, absl::StrCat(axis.key, " is varied in ", own[axis.key], " as well: remove one"));
      }
      own[axis.key] = "the variant's grid";
    }
    for (const Setting& setting : variant.settings) {
      if (!own.contains(setting.key)) continue;
      return Error(setting.place, absl::StrCat("variant ", variant.name, " sets ", setting.key, ", which ",
                                               own[setting.key], " varies: remove one"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SweepFile> Parser::Parse(absl::string_view text) {
  ASSIGN_OR_RETURN(const TomlNode root, config::ReadTomlTree(text, name_));
  file_.name = name_;
  file_.directory = directory_;
  RETURN_IF_ERROR(CheckMembers(root, "key", {"config", "settings", "grid", "variants", "random", "compare"}));
  RETURN_IF_ERROR(ReadVariants(root));
  if (const TomlNode* const grid = root.Find("grid")) {
    ASSIGN_OR_RETURN(file_.axes, ParseAxes(*grid));
  }
  if (const TomlNode* const random = root.Find("random")) RETURN_IF_ERROR(ReadRandom(*random));
  if (const TomlNode* const compare = root.Find("compare")) RETURN_IF_ERROR(ReadCompare(*compare));
  const bool varies =
      root.Find("grid") != nullptr || root.Find("random") != nullptr || root.Find("variants") != nullptr;
  if (!varies) {
    return Error({1, 1},
                 "the sweep varies nothing: give it [grid], [[variants]] or [random]; ./reprise train does one run");
  }
  RETURN_IF_ERROR(CheckVariedOnce());
  return std::move(file_);
}

}  // namespace

std::string OverrideText(const Setting& setting) {
  return absl::StrCat(setting.key, "=", config::Literal(setting.value));
}

absl::StatusOr<SweepFile> ParseSweep(absl::string_view text, const std::string& path) {
  return Parser(path).Parse(text);
}

}  // namespace reprise
