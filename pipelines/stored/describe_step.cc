#include "pipelines/stored/describe_step.h"

#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/check.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "pipelines/stored/phase_name.h"
#include "rl/config/workload_traits.h"
#include "rl/environments/grid_navigation/action_mask.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_streams.h"
#include "rl/record/decisions.h"

namespace reprise {
namespace {

std::string Quoted(const std::string& text) { return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\""); }

// The tokens that the policy sampled, without the end token.
absl::Span<const int32_t> Written(const rl::EpisodeRecord& episode) {
  const rl::CompletionEpisode& completion = rl::CompletionOf(episode);
  const absl::Span<const int32_t> tokens = completion.tokens;
  if (!completion.turn_K.empty()) return tokens;
  return episode.terminated && !tokens.empty() ? tokens.subspan(0, tokens.size() - 1) : tokens;
}

double SumLogprobs(const std::vector<float>& logprobs) {
  double sum = 0;
  for (float logprob : logprobs) sum += logprob;
  return sum;
}

const rl::TaskRecord* FindTask(const rl::StepRecord& record, int64_t prompt) {
  for (const rl::TaskRecord& task : record.task_P) {
    if (task.prompt == prompt) return &task;
  }
  return nullptr;
}

// Answers of supervised fine-tuning have no reward.
std::string RewardText(const rl::EpisodeRecord& episode) {
  if (episode.rewards_F.empty()) return "";
  if (std::isnan(episode.reward)) return "no reward (unscorable)  ";
  return absl::StrFormat("reward %6.3f  advantage %+7.4f  ", episode.reward, episode.advantage);
}

// The dialogue, turn by turn: "8" higher "12" lower "10".
std::string DialogueText(const rl::EpisodeRecord& episode, const TokenText& text) {
  const rl::CompletionEpisode& completion = rl::CompletionOf(episode);
  if (completion.turn_K.empty()) return text.Shown(Written(episode));
  const absl::Span<const int32_t> tokens = completion.tokens;
  std::string dialogue;
  size_t begin = 0;
  for (const rl::TurnRecord& turn : completion.turn_K) {
    const size_t observed = static_cast<size_t>(turn.observation_tokens),
                 acted = static_cast<size_t>(turn.action_tokens);
    absl::StrAppend(&dialogue, dialogue.empty() ? "" : " ", text.Shown(tokens.subspan(begin + observed, acted)));
    if (turn.reply) absl::StrAppend(&dialogue, " -> ", Quoted(turn.reply->observation));
    begin += observed + acted;
  }
  return dialogue;
}

std::string EndText(const rl::EpisodeRecord& episode) { return episode.terminated ? "     " : ", cut"; }

// Where actions are checked: marks an episode that was dropped, or in which no action was found.
std::string LearnedText(const rl::EpisodeRecord& episode) {
  return rl::NumLearned(episode.decisions) == 0 ? "  (not learned)" : "";
}

std::string EpisodeLine(const rl::EpisodeRecord& episode, size_t index, const TokenText& text) {
  return absl::StrFormat("  #%-4d %slogprob %8.3f  %3d tokens%s  %s%s\n", index, RewardText(episode),
                         SumLogprobs(episode.logprobs), rl::CompletionOf(episode).tokens.size(), EndText(episode),
                         DialogueText(episode, text), LearnedText(episode));
}

const rl::EpisodeRecord& EpisodeAt(const rl::StepRecord& record, int64_t index) {
  CHECK_GE(index, 0);
  CHECK_LT(index, static_cast<int64_t>(record.episode_N.size()));
  return record.episode_N[index];
}

nlohmann::ordered_json TurnsJson(const rl::CompletionEpisode& completion, const TokenText& text) {
  const absl::Span<const int32_t> tokens = completion.tokens;
  nlohmann::ordered_json turns = nlohmann::ordered_json::array();
  size_t begin = 0;
  for (const rl::TurnRecord& turn : completion.turn_K) {
    const absl::Span<const int32_t> observation = tokens.subspan(begin, static_cast<size_t>(turn.observation_tokens));
    const absl::Span<const int32_t> action =
        tokens.subspan(begin + observation.size(), static_cast<size_t>(turn.action_tokens));
    nlohmann::ordered_json json = {{"observation_tokens", observation.size()}, {"action_tokens", action.size()}};
    if (text.has_tokenizer()) json["action"] = text.Plain(action);
    if (turn.reply) {
      json["observation"] = turn.reply->observation;
      json["reward"] = turn.reply->reward;
      json["done"] = turn.reply->done;
      json["truncated"] = turn.reply->truncated;
    }
    if (turn.check) {
      json["action_mask"] = {{"method", rl::grid_navigation::MaskMethodName(turn.check->method)},
                             {"valid", turn.check->valid},
                             {"learned_begin", turn.check->learned_begin},
                             {"learned_end", turn.check->learned_end}};
    }
    turns.push_back(std::move(json));
    begin += observation.size() + action.size();
  }
  return turns;
}

nlohmann::ordered_json EpisodeJson(const rl::EpisodeRecord& episode, size_t index, const TokenText& text) {
  const rl::CompletionEpisode& completion = rl::CompletionOf(episode);
  nlohmann::ordered_json json = {{"completion", index},
                                 {"prompt", episode.prompt},
                                 {"sample", episode.sample},
                                 {"reward", episode.reward},
                                 {"rewards", episode.rewards_F},
                                 {"advantage", episode.advantage},
                                 {"terminated", episode.terminated}};
  if (text.has_tokenizer()) json["text"] = text.Plain(Written(episode));
  if (!completion.turn_K.empty()) json["turns"] = TurnsJson(completion, text);
  json["tokens"] = completion.tokens;
  return json;
}

// Truncates a long text to fit on a line.
std::string Beginning(std::string text) {
  constexpr size_t kMost = 240;
  if (text.size() <= kMost) return text;
  size_t end = kMost;
  while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + "...";
}

}  // namespace

std::vector<std::string> SampleLines(const rl::StepRecord& record, const TokenText& text) {
  constexpr size_t kSamples = 3;
  std::vector<std::string> lines;
  int64_t last_prompt = -1;
  for (const rl::EpisodeRecord& episode : record.episode_N) {
    const rl::TaskRecord* const task = FindTask(record, episode.prompt);
    if (episode.prompt == last_prompt || task == nullptr) continue;
    if (lines.size() == kSamples) break;
    last_prompt = episode.prompt;
    const std::string reward =
        std::isnan(episode.reward) ? "no reward (unscorable)" : absl::StrFormat("reward %.3f", episode.reward);
    lines.push_back(absl::StrCat(Beginning(Quoted(rl::CompletionOf(*task).text)), " -> ",
                                 Beginning(DialogueText(episode, text)), "  ", reward));
  }
  return lines;
}

absl::StatusOr<std::vector<std::string>> SampleLines(const rl::Config& config, const rl::StepTables& step,
                                                     const TokenText& text) {
  if (!rl::Traits(config).has_completions) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const rl::StepRecord record, rl::FromTables(step, rl::MakeRecordForm(config)));
  return SampleLines(record, text);
}

std::string DescribeStep(const rl::StepRecord& record, const TokenText& text) {
  std::string out = absl::StrCat(PhaseTitle(record.phase), " step ", record.step, ": ", record.task_P.size(),
                                 " tasks, ", record.episode_N.size(), " completions\n");
  size_t index = 0;
  for (const rl::TaskRecord& task : record.task_P) {
    const rl::CompletionTask& asked = rl::CompletionOf(task);
    absl::StrAppend(&out, "task ", task.prompt, ": ", Quoted(asked.text), "  answer ", Quoted(asked.answer), "\n");
    for (; index < record.episode_N.size() && record.episode_N[index].prompt == task.prompt; ++index) {
      absl::StrAppend(&out, EpisodeLine(record.episode_N[index], index, text));
    }
  }
  absl::StrAppend(&out, "metrics\n");
  for (const auto& [name, value] : record.metrics) {
    absl::StrAppendFormat(&out, "  %-40s %.9g\n", Printable(name), value);
  }
  return out;
}

nlohmann::ordered_json StepJson(const rl::StepRecord& record, const TokenText& text) {
  nlohmann::ordered_json json = {{"event", "step"}, {"phase", PhaseName(record.phase)}, {"step", record.step}};
  json["tasks"] = nlohmann::ordered_json::array();
  for (const rl::TaskRecord& task : record.task_P) {
    const rl::CompletionTask& asked = rl::CompletionOf(task);
    json["tasks"].push_back({{"prompt", task.prompt}, {"text", asked.text}, {"answer", asked.answer}});
  }
  json["completions"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < record.episode_N.size(); ++i) {
    json["completions"].push_back(EpisodeJson(record.episode_N[i], i, text));
  }
  json["metrics"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : record.metrics) json["metrics"][name] = value;
  return json;
}

std::string DescribeCompletion(const rl::StepRecord& record, int64_t index, const TokenText& text) {
  const rl::EpisodeRecord& episode = EpisodeAt(record, index);
  std::string out = absl::StrCat(PhaseTitle(record.phase), " step ", record.step, ", completion ", index, ": prompt ",
                                 episode.prompt, ", sample ", episode.sample, "\n");
  if (const rl::TaskRecord* const task = FindTask(record, episode.prompt)) {
    const rl::CompletionTask& asked = rl::CompletionOf(*task);
    absl::StrAppend(&out, "task        ", Quoted(asked.text), "  answer ", Quoted(asked.answer), "\n");
  }
  const rl::CompletionEpisode& completion = rl::CompletionOf(episode);
  const char* const how = episode.terminated ? "ended" : completion.turn_K.empty() ? "cut at its longest" : "cut";
  absl::StrAppendFormat(&out, "completion  %s  %s%s\n", DialogueText(episode, text), RewardText(episode), how);
  const rl::Decisions& decisions = episode.decisions;
  const bool has_behaviour = !episode.behaviour_logprobs.empty();
  absl::StrAppend(&out, "position  token       log-probability  ", has_behaviour ? "     it was drawn with  " : "",
                  "text\n");
  for (size_t i = 0; i < completion.tokens.size(); ++i) {
    const absl::Span<const int32_t> token = absl::MakeConstSpan(completion.tokens).subspan(i, 1);
    const std::string shown = text.has_tokenizer() ? text.Shown(token) : "";
    if (!decisions.drawn_T.empty() && decisions.drawn_T[i] == 0) {
      absl::StrAppendFormat(&out, "%8d  %5d  %20s  %s%s\n", i, token[0], "observation",
                            has_behaviour ? std::string(22, ' ') : "", shown);
    } else {
      const char* const how_learned =
          decisions.learned_T.empty() || decisions.learned_T[i] != 0 ? "" : "  (not learned)";
      const std::string drawn = has_behaviour ? absl::StrFormat("%20.9g  ", episode.behaviour_logprobs[i]) : "";
      absl::StrAppendFormat(&out, "%8d  %5d  %20.9g  %s%s%s\n", i, token[0], episode.logprobs[i], drawn, shown,
                            how_learned);
    }
  }
  return out;
}

nlohmann::ordered_json CompletionJson(const rl::StepRecord& record, int64_t index, const TokenText& text) {
  const rl::EpisodeRecord& episode = EpisodeAt(record, index);
  nlohmann::ordered_json json = {{"event", "completion"}, {"phase", PhaseName(record.phase)}, {"step", record.step}};
  json.update(EpisodeJson(episode, static_cast<size_t>(index), text));
  if (const rl::TaskRecord* const task = FindTask(record, episode.prompt)) {
    const rl::CompletionTask& asked = rl::CompletionOf(*task);
    json["task"] = {{"text", asked.text}, {"answer", asked.answer}};
  }
  json["logprobs"] = episode.logprobs;
  json["entropies"] = episode.entropies;
  if (!episode.behaviour_logprobs.empty()) json["behaviour_logprobs"] = episode.behaviour_logprobs;
  return json;
}

}  // namespace reprise
