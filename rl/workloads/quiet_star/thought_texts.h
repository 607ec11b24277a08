#ifndef RL_WORKLOADS_QUIET_STAR_THOUGHT_TEXTS_H_
#define RL_WORKLOADS_QUIET_STAR_THOUGHT_TEXTS_H_

// The texts that a model thinks about: generated problems of [data] with their answers. A text follows from the
// configuration, the seed and its place alone.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/random/draw.h"
#include "data/tasks/task.h"
#include "models/decoder/config.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/episodes/draw_problem.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

struct ThoughtText {
  std::vector<int32_t> token_S;
  int64_t answer_begin = 1;       // the first token of the answer, with which the text ends
  std::vector<uint8_t> counts_S;  // 1 where quiet_star.counted counts the token; never for a delimiter of a thought

  bool operator==(const ThoughtText&) const = default;
};

class ThoughtTexts {
 public:
  // grown: the trained model, whose vocabulary ends with the thinking tokens. InvalidArgument for options of [data]
  // that are not valid, for a text that the tokenizer cannot encode (all characters of texts are checked here), and
  // where evaluation.held_out_share leaves too few problems on one side.
  static absl::StatusOr<ThoughtTexts> Create(const Config& config, const models::Tokenizer& tokenizer,
                                             const models::DecoderConfig& grown);

  // Returns the text of a prompt: in the SFT phase one of its examples, with a thought before the answer as a part of
  // the text, or plain. Its problem is not held out (rl/episodes/draw_problem.h). Pure, as the others.
  ThoughtText At(Phase phase, int64_t step, int64_t prompt) const;
  // Returns a text of an evaluation, with a problem that is held out unless evaluation.held_out_share is 0.
  ThoughtText HeldOut(int64_t prompt) const;

  // Returns a warning where the problems of evaluations are too few (WarningOfFewProblems); empty: none. Pure.
  std::string WarningOfEvaluations() const;

  // Returns the tokens as text, with thinking tokens under their names.
  std::string Shown(absl::Span<const int32_t> tokens) const;

 private:
  ThoughtTexts(const Config& config, const models::Tokenizer& tokenizer, const models::DecoderConfig& grown,
               ProblemSource problems);

  TaskPlace MakeTaskPlace(Purpose purpose, int64_t step, int64_t prompt) const;
  data::Task Problem(Purpose purpose, int64_t step, int64_t prompt, bool held_out) const;
  absl::Status CheckSplit() const;
  ThoughtText Example(int64_t example) const;
  ThoughtText TextOf(const data::Task& task, absl::Span<const int32_t> thought) const;
  std::vector<int32_t> Encoded(const std::string& text) const;

  Config config_;
  const models::Tokenizer* tokenizer_;
  ProblemSource problems_;
  int64_t first_thinking_token_ = 0;
  std::vector<int32_t> thinking_tokens_;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_THOUGHT_TEXTS_H_
