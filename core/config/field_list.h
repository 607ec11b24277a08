#ifndef CORE_CONFIG_FIELD_LIST_H_
#define CORE_CONFIG_FIELD_LIST_H_

// The visitor of a configuration. A section is a plain struct with a function beside it that lists every member
// once, and from that listing come parsing, --set, printing, hashing and the reference documentation:
//
//   struct RolloutConfig { int64_t num_generations = 8; double temperature = 1.0; };
//
//   void Visit(FieldList& list, RolloutConfig& rollout) {
//     list.Section("rollout", Kind::kSemantic, "How completions are sampled.");
//     list.Int("num_generations", rollout.num_generations, Between(2, 65536), "Completions for each prompt.");
//     list.Double("temperature", rollout.temperature, {.low = 0, .without_low = true}, "Divides the logits.");
//     list.Name("truncation_side", rollout.truncation_side, {"left", "right"}, "Which end of a long prompt is kept.")
//         .ReadIf([&] { return rollout.max_prompt_length > 0; }, "rollout.max_prompt_length above 0");
//   }
//
// A key that is set although its conditions do not hold would do nothing: Field::FirstUnmet finds it, and the canonical
// text (core/config/print.h) is without it.
// The list points into the struct, which must outlive it and stay where it is. All texts must be string literals.

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/config/field.h"

namespace reprise::config {

// What other programs call a key ("rollout.max_completion_length"), or an option of the command line ("--resume").
struct OtherName {
  absl::string_view elsewhere, here;
};

struct SectionDoc {
  absl::string_view name;
  Kind kind;
  absl::string_view doc;
};

class FieldList {
 public:
  // Opens a section: the fields that follow are its keys. Each section once, each key once in its section (checked).
  FieldList& Section(absl::string_view name, Kind kind, absl::string_view doc);
  // Each adds a key and returns *this, for the conditions that follow.
  FieldList& Bool(absl::string_view key, bool& value, absl::string_view doc);
  FieldList& Int(absl::string_view key, int64_t& value, const IntRange& range, absl::string_view doc);
  FieldList& Double(absl::string_view key, double& value, const DoubleRange& range, absl::string_view doc);
  // A number, or an interval, that may be absent: "none".
  FieldList& Double(absl::string_view key, std::optional<double>& value, const DoubleRange& range,
                    absl::string_view doc);
  FieldList& Range(absl::string_view key, std::optional<Interval>& value, absl::string_view doc);
  // Values that functions read and write (Through): setting one may set others, which must be listed later.
  FieldList& Bool(absl::string_view key, const Access<bool>& value, absl::string_view doc);
  FieldList& Double(absl::string_view key, const Access<double>& value, const DoubleRange& range,
                    absl::string_view doc);
  FieldList& Name(absl::string_view key, const Access<size_t>& value, std::vector<absl::string_view> names,
                  absl::string_view doc);
  FieldList& String(absl::string_view key, std::string& value, absl::string_view doc);
  // Text that is one of `names`.
  FieldList& Name(absl::string_view key, std::string& value, std::vector<absl::string_view> names,
                  absl::string_view doc);

  // The same for an enumeration, whose enumerators 0, 1, ... are named in order, or a truth value, false first.
  template <typename Enum>
    requires(std::is_enum_v<Enum> || std::is_same_v<Enum, bool>)
  FieldList& Name(absl::string_view key, Enum& value, std::vector<absl::string_view> names, absl::string_view doc) {
    return Add(key, EnumAccess(value), std::move(names), doc);
  }

  // Text that is one or more of `names`, separated by single spaces.
  FieldList& Names(absl::string_view key, std::string& value, std::vector<absl::string_view> names,
                   absl::string_view doc);

  // Adds a condition to the key that was listed last, or to every key of a section that was opened last: without it,
  // nothing reads the key. `holds` may refer to what the list points into.
  FieldList& ReadIf(std::function<bool()> holds, absl::string_view needs);
  // The same for each key that `list_keys` lists.
  void WhereRead(std::function<bool()> holds, absl::string_view needs, const std::function<void()>& list_keys);
  // The same for a scope: where it does not hold, the configuration has no such key. A key's own scope takes the place
  // of its section's.
  FieldList& OnlyFor(Condition scope);

  // Adds names that other programs use: an error about an unknown key or option with such a name suggests the name
  // here. Must be called after the keys have been added; a suggested key must exist (checked).
  void AlsoCalled(absl::Span<const OtherName> names);

  // In the order of listing.
  absl::Span<const SectionDoc> sections() const { return sections_; }
  absl::Span<const Field> fields() const { return fields_; }
  absl::Span<const OtherName> other_names() const { return other_names_; }

  bool HasSection(absl::string_view name) const;
  // The field, or nullptr.
  const Field* Find(absl::string_view section, absl::string_view key) const;

  // "unknown key rollout.num_generation; did you mean rollout.num_generations?": the names of NamesOfKey if there are
  // any, else the nearest key of this section, else no advice. `section` is known, `key` is not one of its keys.
  absl::Status UnknownKey(absl::string_view section, absl::string_view key) const;
  // "unknown section rollut; did you mean rollout?"
  absl::Status UnknownSection(absl::string_view section) const;
  // The key or option that other programs call `key`; else the names of all keys called `key`, joined by " or ":
  // "optimizer.learning_rate or sft.learning_rate"; else "".
  std::string NamesOfKey(absl::string_view key) const;

 private:
  FieldList& Add(absl::string_view key, Target target, Allowed allowed, absl::string_view doc);
  FieldList& AddCondition(Condition condition);

  std::vector<SectionDoc> sections_;
  std::vector<Condition> section_conditions_;  // of the open section
  bool is_section_last_ = false;               // whether no key follows the section that was opened last
  std::vector<Field> fields_;
  std::vector<OtherName> other_names_;
};

}  // namespace reprise::config

#endif  // CORE_CONFIG_FIELD_LIST_H_
