#include "rl/record/completions/record_testing.h"

#include "rl/record/completions/completion_record.h"

namespace reprise::rl {

RecordForm FormOfRecord(const StepRecord& record) {
  RecordForm form = {.evaluates_outside = !GetEvaluationReplies(record).empty()};
  for (const EpisodeRecord& episode : record.episode_N) {
    const std::vector<TurnRecord>& turn_K = CompletionOf(episode).turn_K;
    form.has_turns |= !turn_K.empty();
    form.has_behaviour |= !episode.behaviour_logprobs.empty();
    for (const TurnRecord& turn : turn_K) {
      form.checks_actions |= turn.check.has_value();
      form.counts_tool_calls |= turn.reply && turn.reply->tool_call != ToolCall::kNone;
    }
  }
  return form;
}

std::optional<Divergence> FirstDivergence(const StepRecord& stored, const StepRecord& computed,
                                          const std::vector<std::string>& tensor_names) {
  return FirstDivergence(CompletionSchema(FormOfRecord(stored)), ToTables(stored, FormOfRecord(stored)),
                         ToTables(computed, FormOfRecord(computed)), tensor_names);
}

}  // namespace reprise::rl
