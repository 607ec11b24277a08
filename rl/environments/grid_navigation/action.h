#ifndef RL_ENVIRONMENTS_GRID_NAVIGATION_ACTION_H_
#define RL_ENVIRONMENTS_GRID_NAVIGATION_ACTION_H_

// An agent's action in one turn: rotate, then move, and optionally answer the question.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::rl::grid_navigation {

// Bytes [begin, end) of a text.
struct ByteSpan {
  size_t begin = 0, end = 0;

  bool operator==(const ByteSpan&) const = default;
};

// Returns the first object of a text: from its first brace to the matching one. Braces inside strings, and quotes after
// a backslash there, are ignored. nullopt without an opening brace, or if the first one is never closed. Pure.
std::optional<ByteSpan> FirstObject(absl::string_view text);

// Returns the first group in braces, without braces inside, that contains "key" in quotes: the first match of
// \{[^{}]*"key"[^{}]*\}. nullopt without one. Pure.
std::optional<ByteSpan> FlatObjectWith(absl::string_view text, absl::string_view key);

struct Action {
  double rotation_angle_degrees = 0;  // to the left
  double forward_meters = 0, left_meters = 0, z_delta_meters = 0;
  std::optional<std::string> answer = std::nullopt;  // a letter
  bool done = false;

  bool operator==(const Action&) const = default;
};

// Parses {"rotation_angle_degrees": 90, "forward_meters": 0, "left_meters": 0}, with "z_delta_meters", "answer" and
// "done" where they are not the defaults (null is the same as absent); other members are ignored. Returns
// InvalidArgument with the cause for anything else.
absl::StatusOr<Action> ParseAction(absl::string_view json);

// The inverse of ParseAction, without members that have their defaults.
std::string ActionJson(const Action& action);

// Returns InvalidArgument unless forward and left are in [-0.5, 0.5], up is in [-0.3, 0.3], an answer comes with done
// and done with an answer, and the answer is the letter, in either case, of one of the `choices`, as ParseChoice reads
// it:
//   "forward_meters 0.75 out of range [-0.5, 0.5]", "done=True but no answer provided",
//   "answer provided but done=False", "Invalid answer format"
absl::Status ValidateAction(const Action& action, int64_t choices);

// Returns the choice, from 0, that an answer names: exactly one letter, of one of the first `choices` (at most 10);
// nullopt for anything else. Pure.
std::optional<int64_t> ParseChoice(absl::string_view answer, int64_t choices);

// The action within a policy's text.
struct FoundAction {
  ByteSpan object = {};           // of the action; empty: there is no object
  bool is_first = false;          // it is the text's FirstObject
  bool has_rotation = false;      // it is the first FlatObjectWith "rotation_angle_degrees"
  absl::StatusOr<Action> action;  // InvalidArgument with the cause where the environment rejects it
};

// Returns the text's first object if it is a valid action (ParseAction, ValidateAction), else the first flat object
// with "rotation_angle_degrees", valid or not, else the first object. The environment executes it and its tokens are
// learned. Pure.
FoundAction FindAction(absl::string_view text, int64_t choices);

}  // namespace reprise::rl::grid_navigation

#endif  // RL_ENVIRONMENTS_GRID_NAVIGATION_ACTION_H_
