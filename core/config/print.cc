#include "core/config/print.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace reprise::config {
namespace {

// A comment must not contain control characters, but a file's name may.
std::string InComment(absl::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return clean;
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

std::string CanonicalText(const FieldList& fields, const std::function<bool(const Field&)>& is_read) {
  std::vector<std::string> lines;
  for (const Field& field : fields.fields()) {
    if (field.kind != Kind::kSemantic || field.omitted == field.Get() || !is_read(field)) continue;
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
    absl::StrAppend(&text, "\n\n| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n");
    for (const Field& field : fields.fields()) {
      if (field.section != section.name) continue;
      absl::StrAppend(&text, "| `", field.key, "` | ", field.TypeText(), " | `", InTable(Literal(field.Get())), "` | ");
      absl::StrAppend(&text, InTable(field.AllowedText()), " | ", InTable(field.doc), " |\n");
    }
  }
  return text;
}

}  // namespace reprise::config
