#include "core/config/resolve.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/config/toml_reader.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::config {
namespace {

absl::StatusOr<Value> Accept(const std::variant<Value, NotScalar>& value, const Field& field) {
  const NotScalar* const other = std::get_if<NotScalar>(&value);
  const bool is_text = field.IsText();
  if (other != nullptr && is_text && !field.several && std::holds_alternative<std::monostate>(field.allowed)) {
    return Mismatch(field, other->what, absl::StrCat("one text in quotes. What it is: ", field.doc));
  }
  if (other != nullptr && field.several) {
    return Mismatch(field, other->what,
                    absl::StrCat("one text in quotes, with spaces between several of ", field.AllowedText()));
  }
  if (other != nullptr) return Mismatch(field, other->what, "");
  return field.Accept(std::get<Value>(value));
}

// The message for an entry that is outside every section.
std::string OutsideSections(const TomlEntry& entry, const FieldList& fields) {
  if (fields.HasSection(entry.key)) {
    return absl::StrCat(entry.key, " is a section: write [", entry.key, "] once, and its keys below it");
  }
  const std::string meant = fields.NamesOfKey(entry.key);
  return absl::StrCat("key ", entry.key, " is outside every section",
                      meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?"));
}

// A value that is neither a number nor a boolean is read as text, so that Field::Accept reports the expected type.
absl::StatusOr<std::variant<Value, NotScalar>> OverrideValue(absl::string_view text, const Field& field) {
  const bool wants_text = field.IsText();
  const bool quoted = absl::StartsWith(text, "\"") || absl::StartsWith(text, "'");
  if (wants_text ? quoted : text.find_first_of("#\n") == absl::string_view::npos) {
    absl::StatusOr<std::variant<Value, NotScalar>> value = ReadTomlValue(text);
    if (value.ok()) return value;
    if (wants_text) return absl::InvalidArgumentError("the value starts with a quote but is not one quoted string");
  }
  absl::StatusOr<std::variant<Value, NotScalar>> value = ReadTomlValue(Quoted(text));
  if (!value.ok()) return absl::InvalidArgumentError("the value is not UTF-8 text of at most 1 MiB");
  return value;
}

}  // namespace

absl::StatusOr<const Field*> FindByName(absl::string_view name, const FieldList& fields) {
  const size_t dot = name.find('.');
  if (name.empty()) return absl::InvalidArgumentError("the key is missing: expected section.key");
  if (dot == absl::string_view::npos && fields.HasSection(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is a section, and no key: give a key of it, as ", name, ".KEY"));
  }
  if (dot == absl::string_view::npos) {
    const std::string meant = fields.NamesOfKey(name);
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has no section", meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
  }
  const absl::string_view section = name.substr(0, dot), key = name.substr(dot + 1);
  if (section.empty() || key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " lacks its ", section.empty() ? "section" : "key", ": expected section.key"));
  }
  if (!fields.HasSection(section)) return fields.UnknownSection(section);
  const Field* field = fields.Find(section, key);
  if (field == nullptr) return fields.UnknownKey(section, key);
  return field;
}

absl::Status Settings::AddEntry(const TomlEntry& entry, absl::string_view file_name) {
  if (entry.what == TomlEntry::What::kOutside) {
    return ErrorAt(file_name, entry.place, OutsideSections(entry, fields_));
  }
  if (!fields_.HasSection(entry.section)) {
    return ErrorAt(file_name, entry.place, fields_.UnknownSection(entry.section).message());
  }
  if (entry.what == TomlEntry::What::kSection) return absl::OkStatus();
  const Field* field = fields_.Find(entry.section, entry.key);
  if (field == nullptr) {
    return ErrorAt(file_name, entry.place, fields_.UnknownKey(entry.section, entry.key).message());
  }
  absl::StatusOr<Value> value = Accept(entry.value, *field);
  if (!value.ok()) return ErrorAt(file_name, entry.value_place, value.status().message());
  settings_[field] = {*std::move(value), absl::StrCat(file_name, ":", entry.place.line)};
  return absl::OkStatus();
}

absl::Status Settings::AddFile(absl::string_view text, absl::string_view file_name) {
  ASSIGN_OR_RETURN(const std::vector<TomlEntry> entries, ReadToml(text, file_name));
  for (const TomlEntry& entry : entries) RETURN_IF_ERROR(AddEntry(entry, file_name));
  return absl::OkStatus();
}

absl::Status Settings::Remove(const std::string& name) {
  const absl::StatusOr<const Field*> field = FindByName(name, fields_);
  if (!field.ok()) return WithContext(field.status(), absl::StrCat("--unset ", name));
  settings_.erase(*field);
  return absl::OkStatus();
}

absl::Status Settings::Override(absl::string_view argument) {
  const size_t equals = argument.find('=');
  if (equals == absl::string_view::npos) return absl::InvalidArgumentError("expected section.key=value");
  const absl::string_view name = absl::StripAsciiWhitespace(argument.substr(0, equals));
  const absl::string_view text = absl::StripAsciiWhitespace(argument.substr(equals + 1));
  ASSIGN_OR_RETURN(const Field* field, FindByName(name, fields_));
  if (text.empty()) {  // perhaps of a shell's variable that is not set
    return absl::InvalidArgumentError(absl::StrCat("the value is empty: --unset ", name, " restores the default",
                                                   field->IsText() ? ", \"\" in quotes is an empty text" : ""));
  }
  ASSIGN_OR_RETURN(const auto value, OverrideValue(text, *field));
  ASSIGN_OR_RETURN(Value accepted, Accept(value, *field));
  settings_[field] = {std::move(accepted), std::string(kFromOverride)};
  return absl::OkStatus();
}

absl::Status Settings::AddOverride(absl::string_view argument) {
  return WithContext(Override(argument), absl::StrCat("--set ", argument));
}

void Settings::Store(Origins& origins) const {
  for (const auto& [field, setting] : settings_) {
    field->Put(setting.value);
    origins[field->Name()] = setting.origin;
  }
}

absl::Status ApplyOverride(absl::string_view argument, const FieldList& fields, Origins& origins) {
  Settings settings(fields);
  RETURN_IF_ERROR(settings.AddOverride(argument));
  settings.Store(origins);
  return absl::OkStatus();
}

absl::Status Resolve(absl::string_view text, absl::string_view file_name, absl::Span<const std::string> overrides,
                     const FieldList& fields, Origins& origins, absl::Span<const std::string> unset) {
  Settings settings(fields);
  RETURN_IF_ERROR(settings.AddFile(text, file_name));
  for (const std::string& name : unset) RETURN_IF_ERROR(settings.Remove(name));
  for (const std::string& argument : overrides) RETURN_IF_ERROR(settings.AddOverride(argument));
  settings.Store(origins);
  return absl::OkStatus();
}

}  // namespace reprise::config
