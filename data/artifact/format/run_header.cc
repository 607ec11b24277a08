#include "data/artifact/format/run_header.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

template <typename T>
void SortByName(std::vector<T>& items) {
  std::sort(items.begin(), items.end(), [](const T& a, const T& b) { return a.name < b.name; });
}

template <typename T>
absl::Status CheckNamesDiffer(const std::vector<T>& items, absl::string_view what) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " \"", *twice, "\" appears twice"));
}

// Returns the lines of `a` that `b` does not have.
std::string LinesOnlyIn(absl::string_view a, absl::string_view b) {
  const std::set<absl::string_view> others = absl::StrSplit(b, '\n');
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(a, '\n')) {
    if (!others.contains(line)) lines.push_back(absl::StrCat("\"", line, "\""));
  }
  return lines.empty() ? "nothing" : absl::StrJoin(lines, ", ");
}

// Returns the names whose items differ between the two.
template <typename T>
std::string NamesThatDiffer(const std::vector<T>& stored, const std::vector<T>& given) {
  std::set<std::string> names;
  const auto is_in = [](const std::vector<T>& items, const T& item) {
    return std::find(items.begin(), items.end(), item) != items.end();
  };
  for (const T& item : stored) {
    if (!is_in(given, item)) names.insert(item.name);
  }
  for (const T& item : given) {
    if (!is_in(stored, item)) names.insert(item.name);
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace

void Sort(RunHeader& header) {
  SortByName(header.external_files);
  SortByName(header.streams);
}

absl::Status CheckRunHeader(const RunHeader& header) {
  for (const StreamSchema& schema : header.streams) RETURN_IF_ERROR(CheckSchema(schema));
  for (const ExternalFile& file : header.external_files) {
    const auto is_control = [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); };
    if (file.name.empty() || std::any_of(file.name.begin(), file.name.end(), is_control)) {
      return absl::InvalidArgumentError(absl::StrCat("an external file can't have the name \"", file.name, "\""));
    }
  }
  RETURN_IF_ERROR(CheckNamesDiffer(header.streams, "stream"));
  return CheckNamesDiffer(header.external_files, "external file");
}

std::string DescribeDifference(const RunHeader& stored, const RunHeader& given) {
  std::vector<std::string> parts;
  if (stored.config_text != given.config_text) {
    parts.push_back(absl::StrCat("its configuration says ", LinesOnlyIn(stored.config_text, given.config_text),
                                 " where this one says ", LinesOnlyIn(given.config_text, stored.config_text)));
  }
  if (stored.external_files != given.external_files) {
    parts.push_back(
        absl::StrCat("it started with other files: ", NamesThatDiffer(stored.external_files, given.external_files)));
  }
  if (stored.streams != given.streams) {
    parts.push_back(absl::StrCat("it stores other streams: ", NamesThatDiffer(stored.streams, given.streams)));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace reprise
