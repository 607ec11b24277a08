#include "core/config/field_list.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/nearest.h"
#include "core/status/check.h"

namespace reprise::config {
namespace {

std::string Advice(absl::string_view names) {
  return names.empty() ? std::string() : absl::StrCat("; did you mean ", names, "?");
}

}  // namespace

FieldList& FieldList::Section(absl::string_view name, Kind kind, absl::string_view doc) {
  CHECK(!HasSection(name));
  sections_.push_back({name, kind, doc});
  section_conditions_.clear();
  is_section_last_ = true;
  return *this;
}

FieldList& FieldList::Add(absl::string_view key, Target target, Allowed allowed, absl::string_view doc) {
  CHECK(!sections_.empty());
  const SectionDoc& section = sections_.back();
  for (auto other = fields_.rbegin(); other != fields_.rend() && other->section == section.name; ++other) {
    CHECK_NE(other->key, key);
  }
  fields_.push_back({.kind = section.kind,
                     .section = section.name,
                     .key = key,
                     .doc = doc,
                     .target = target,
                     .allowed = std::move(allowed),
                     .conditions = section_conditions_});
  is_section_last_ = false;
  return *this;
}

FieldList& FieldList::Bool(absl::string_view key, bool& value, absl::string_view doc) {
  return Add(key, &value, std::monostate(), doc);
}

FieldList& FieldList::Int(absl::string_view key, int64_t& value, const IntRange& range, absl::string_view doc) {
  return Add(key, &value, range, doc);
}

FieldList& FieldList::Double(absl::string_view key, double& value, const DoubleRange& range, absl::string_view doc) {
  return Add(key, &value, range, doc);
}

FieldList& FieldList::Double(absl::string_view key, std::optional<double>& value, const DoubleRange& range,
                             absl::string_view doc) {
  return Add(key, &value, range, doc);
}

FieldList& FieldList::Range(absl::string_view key, std::optional<Interval>& value, absl::string_view doc) {
  return Add(key, &value, std::monostate(), doc);
}

FieldList& FieldList::Bool(absl::string_view key, const Access<bool>& value, absl::string_view doc) {
  return Add(key, value, std::monostate(), doc);
}

FieldList& FieldList::Double(absl::string_view key, const Access<double>& value, const DoubleRange& range,
                             absl::string_view doc) {
  return Add(key, value, range, doc);
}

FieldList& FieldList::Name(absl::string_view key, const Access<size_t>& value, std::vector<absl::string_view> names,
                           absl::string_view doc) {
  return Add(key, value, std::move(names), doc);
}

FieldList& FieldList::String(absl::string_view key, std::string& value, absl::string_view doc) {
  return Add(key, &value, std::monostate(), doc);
}

FieldList& FieldList::Name(absl::string_view key, std::string& value, std::vector<absl::string_view> names,
                           absl::string_view doc) {
  return Add(key, &value, std::move(names), doc);
}

FieldList& FieldList::Names(absl::string_view key, std::string& value, std::vector<absl::string_view> names,
                            absl::string_view doc) {
  Add(key, &value, std::move(names), doc);
  fields_.back().several = true;
  return *this;
}

FieldList& FieldList::AddCondition(Condition condition) {
  if (is_section_last_) {
    section_conditions_.push_back(std::move(condition));
  } else {
    CHECK(!fields_.empty());
    fields_.back().conditions.push_back(std::move(condition));
  }
  return *this;
}

FieldList& FieldList::ReadIf(std::function<bool()> holds, absl::string_view needs) {
  return AddCondition({.holds = std::move(holds), .needs = std::string(needs)});
}

void FieldList::WhereRead(std::function<bool()> holds, absl::string_view needs,
                          const std::function<void()>& list_keys) {
  section_conditions_.push_back({.holds = std::move(holds), .needs = std::string(needs)});
  list_keys();
  section_conditions_.pop_back();
}

FieldList& FieldList::OnlyFor(Condition scope) {
  scope.is_scope = true;
  if (!is_section_last_ && !fields_.empty()) {
    std::erase_if(fields_.back().conditions, [](const Condition& each) { return each.is_scope; });
  }
  return AddCondition(std::move(scope));
}

void FieldList::AlsoCalled(absl::Span<const OtherName> names) {
  for (const OtherName& name : names) {
    const size_t dot = name.here.find('.');
    CHECK(absl::StartsWith(name.here, "--") || Find(name.here.substr(0, dot), name.here.substr(dot + 1)) != nullptr);
    other_names_.push_back(name);
  }
}

bool FieldList::HasSection(absl::string_view name) const {
  return std::any_of(sections_.begin(), sections_.end(), [&](const SectionDoc& s) { return s.name == name; });
}

const Field* FieldList::Find(absl::string_view section, absl::string_view key) const {
  for (const Field& field : fields_) {
    if (field.section == section && field.key == key) return &field;
  }
  return nullptr;
}

absl::Status FieldList::UnknownKey(absl::string_view section, absl::string_view key) const {
  std::string meant = NamesOfKey(key);
  if (meant.empty()) {
    std::vector<std::string> keys;
    for (const Field& field : fields_) {
      if (field.section == section) keys.emplace_back(field.key);
    }
    const std::optional<std::string> nearest = Nearest(key, keys);
    if (nearest.has_value()) meant = absl::StrCat(section, ".", *nearest);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown key ", section, ".", key, Advice(meant)));
}

absl::Status FieldList::UnknownSection(absl::string_view section) const {
  std::vector<std::string> names;
  for (const SectionDoc& known : sections_) names.emplace_back(known.name);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown section ", section, Advice(Nearest(section, names).value_or(""))));
}

std::string FieldList::NamesOfKey(absl::string_view key) const {
  for (const OtherName& name : other_names_) {
    if (name.elsewhere == key) return std::string(name.here);
  }
  std::vector<std::string> names;
  for (const Field& field : fields_) {
    if (field.key == key) names.push_back(field.Name());
  }
  return absl::StrJoin(names, " or ");
}

}  // namespace reprise::config
