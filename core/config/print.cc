#include "core/config/print.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace reprise::config {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A comment must not contain control characters, but a file's name may.
std::string InComment(absl::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return clean;
}

// The conditions of every key of the section.
std::vector<std::string> CommonNeeds(const FieldList& fields, absl::string_view section) {
  std::optional<std::vector<std::string>> common;
  for (const Field& field : fields.fields()) {
    if (field.section != section) continue;
    std::vector<std::string> needs;
    for (const Condition& condition : field.conditions) {
      if (!common || Contains(*common, condition.needs)) needs.push_back(condition.needs);
    }
    common = std::move(needs);
  }
  return common.value_or(std::vector<std::string>());
}

// " *Needs a; and b.*", without those of `common`.
std::string NeedsText(const std::vector<Condition>& conditions, const std::vector<std::string>& common) {
  std::vector<std::string> needs;
  for (const Condition& condition : conditions) {
    if (!Contains(common, condition.needs)) needs.push_back(condition.needs);
  }
  return needs.empty() ? "" : absl::StrCat(" *Needs ", absl::StrJoin(needs, "; and "), ".*");
}

std::string InTable(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}}); }

}  // namespace

std::string PrintWithOrigins(const FieldList& fields, const Origins& origins) {
  std::string text;
  for (const SectionDoc& section : fields.sections()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "[", section.name, "]\n");
    std::vector<std::string> assignments, comments;
    size_t width = 0;
    for (const Field& field : fields.fields()) {
      if (field.section != section.name) continue;
      const auto origin = origins.find(field.Name());
      assignments.push_back(absl::StrCat(field.key, " = ", Literal(field.Get())));
      comments.push_back(origin == origins.end() ? "default" : InComment(origin->second));
      // One long path must not move every comment far to the right.
      if (assignments.back().size() <= 48) width = std::max(width, assignments.back().size());
    }
    for (size_t i = 0; i < assignments.size(); ++i) {
      assignments[i].resize(std::max(width, assignments[i].size()), ' ');
      absl::StrAppend(&text, assignments[i], "  # ", comments[i], "\n");
    }
  }
  return text;
}

std::string CanonicalText(const FieldList& fields) {
  std::vector<std::string> lines;
  for (const Field& field : fields.fields()) {
    if (field.kind != Kind::kSemantic || field.FirstUnmet() != nullptr) continue;
    lines.push_back(absl::StrCat(field.Name(), " = ", Literal(field.Get()), "\n"));
  }
  std::sort(lines.begin(), lines.end());
  return absl::StrJoin(lines, "");
}

std::string ReferenceMarkdown(const FieldList& fields) {
  std::string text;
  for (const SectionDoc& section : fields.sections()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "## [", section.name, "]\n\n", section.doc);
    if (section.kind == Kind::kExecution)
      absl::StrAppend(&text, " *Execution keys: they cannot change a bit of a run.*");
    const std::vector<std::string> common = CommonNeeds(fields, section.name);
    if (!common.empty()) absl::StrAppend(&text, " *Needs ", absl::StrJoin(common, "; and "), ".*");
    absl::StrAppend(&text, "\n\n| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n");
    for (const Field& field : fields.fields()) {
      if (field.section != section.name) continue;
      absl::StrAppend(&text, "| `", field.key, "` | ", field.TypeText(), " | `", InTable(Literal(field.Get())), "` | ");
      absl::StrAppend(&text, InTable(field.AllowedText()), " | ", InTable(field.doc),
                      InTable(NeedsText(field.conditions, common)), " |\n");
    }
  }
  return text;
}

}  // namespace reprise::config
