#ifndef CORE_CONFIG_PRINT_H_
#define CORE_CONFIG_PRINT_H_

// A configuration as text: for people, for hashing, and as documentation. Pure.

#include <string>

#include "core/config/field_list.h"
#include "core/config/resolve.h"

namespace reprise::config {

// Returns valid TOML: each section and key in the order of listing, each value with its origin:
//   [rollout]
//   num_generations = 8  # default
//   temperature = 0.7    # grpo.toml:12
std::string PrintWithOrigins(const FieldList& fields, const Origins& origins);

// The identity of a run: one line `section.key = value` for each semantic key that is read, that is, whose conditions
// hold (ReadIf, WhereRead, OnlyFor), "\n" after each, the lines sorted as bytes. It depends on the values alone, and is
// itself TOML that gives the same values of these keys. Its SHA-256 is the configuration's digest.
std::string CanonicalText(const FieldList& fields);

// Reference documentation in Markdown: a heading, a sentence and a table (key, type, default, allowed, meaning) for
// each section, with the conditions of keys. The values in `fields` are printed as the defaults.
std::string ReferenceMarkdown(const FieldList& fields);

}  // namespace reprise::config

#endif  // CORE_CONFIG_PRINT_H_
