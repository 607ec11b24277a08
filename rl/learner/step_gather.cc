#include "rl/learner/step_gather.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "rl/record/record_turns.h"
#include "rl/record/wire.h"

namespace reprise::rl {
namespace {

void Put(const TaskRecord& task, WireWriter& out) {
  out.Put(task.prompt);
  out.PutString(task.text);
  out.PutString(task.answer);
  out.PutArray(task.tokens);
}

TaskRecord GetTask(WireReader& in) {
  TaskRecord task;
  task.prompt = in.Get<int64_t>();
  task.text = in.GetString();
  task.answer = in.GetString();
  task.tokens = in.GetArray<int32_t>();
  return task;
}

void Put(const Reply& reply, WireWriter& out) {
  out.PutString(reply.observation);
  out.Put(reply.reward);
  out.Put(reply.done);
  out.Put(reply.truncated);
  out.Put(reply.tool_call);
}

Reply GetReply(WireReader& in) {
  Reply reply;
  reply.observation = in.GetString();
  reply.reward = in.Get<double>();
  reply.done = in.Get<bool>();
  reply.truncated = in.Get<bool>();
  reply.tool_call = in.Get<ToolCall>();
  return reply;
}

void Put(const EvaluationReply& said, WireWriter& out) {
  out.Put(said.on_start);
  out.Put(said.greedy);
  out.Put(said.prompt);
  out.Put(said.sample);
  out.Put(said.turn);
  out.Put(said.asked);
  Put(said.reply, out);
}

EvaluationReply GetEvaluationReply(WireReader& in) {
  EvaluationReply said;
  said.on_start = in.Get<bool>();
  said.greedy = in.Get<bool>();
  said.prompt = in.Get<int64_t>();
  said.sample = in.Get<int64_t>();
  said.turn = in.Get<int64_t>();
  said.asked = in.Get<Digest>();
  said.reply = GetReply(in);
  return said;
}

void Put(const TurnRecord& turn, WireWriter& out) {
  out.Put(turn.observation_tokens);
  out.Put(turn.action_tokens);
  out.Put(turn.complete);
  out.Put(turn.check.has_value());
  if (turn.check) out.Put(*turn.check);
  out.Put(turn.reply.has_value());
  if (turn.reply) Put(*turn.reply, out);
}

TurnRecord GetTurn(WireReader& in) {
  TurnRecord turn;
  turn.observation_tokens = in.Get<int64_t>();
  turn.action_tokens = in.Get<int64_t>();
  turn.complete = in.Get<bool>();
  if (in.Get<bool>()) turn.check = in.Get<ActionCheck>();
  if (in.Get<bool>()) turn.reply = GetReply(in);
  return turn;
}

void Put(const EpisodeRecord& episode, WireWriter& out) {
  out.Put(episode.prompt);
  out.Put(episode.sample);
  out.Put(episode.terminated);
  out.PutArray(episode.tokens);
  out.Put<int64_t>(static_cast<int64_t>(episode.turn_K.size()));
  for (const TurnRecord& turn : episode.turn_K) Put(turn, out);
  out.PutArray(episode.logprobs);
  out.PutArray(episode.ref_logprobs);
  out.PutArray(episode.behaviour_logprobs);
  out.PutArray(episode.rewards_F);
  out.Put(episode.reward);
  out.Put(episode.advantage);
}

EpisodeRecord GetEpisode(WireReader& in) {
  EpisodeRecord episode;
  episode.prompt = in.Get<int64_t>();
  episode.sample = in.Get<int64_t>();
  episode.terminated = in.Get<bool>();
  episode.tokens = in.GetArray<int32_t>();
  for (int64_t left = in.Get<int64_t>(); left > 0; --left) episode.turn_K.push_back(GetTurn(in));
  episode.logprobs = in.GetArray<float>();
  episode.ref_logprobs = in.GetArray<float>();
  episode.behaviour_logprobs = in.GetArray<float>();
  episode.rewards_F = in.GetArray<double>();
  episode.reward = in.Get<double>();
  episode.advantage = in.Get<double>();
  episode.decisions = DecisionsOf(episode);
  return episode;
}

void Append(WireReader in, StepShare* share) {
  for (int64_t left = in.Get<int64_t>(); left > 0; --left) share->task_P.push_back(GetTask(in));
  for (int64_t left = in.Get<int64_t>(); left > 0; --left) share->episode_N.push_back(GetEpisode(in));
  for (std::vector<EpisodeOutcome>* outcomes : {&share->first_outcome_N, &share->outcome_N}) {
    const std::vector<EpisodeOutcome> more = in.GetArray<EpisodeOutcome>();
    outcomes->insert(outcomes->end(), more.begin(), more.end());
  }
  for (int64_t left = in.Get<int64_t>(); left > 0; --left) {
    share->evaluation_replies.push_back(GetEvaluationReply(in));
  }
}

// Problems are assigned to ranks in order, so that a stable sort puts the ranks' replies into the order of a single
// rank.
void Order(std::vector<EvaluationReply>& replies) {
  const auto place = [](const EvaluationReply& said) { return std::make_pair(!said.on_start, !said.greedy); };
  std::stable_sort(replies.begin(), replies.end(),
                   [&](const EvaluationReply& a, const EvaluationReply& b) { return place(a) < place(b); });
}

}  // namespace

absl::Status GatherStep(Communicator& comm, StepShare* share) {
  if (comm.size() == 1) return absl::OkStatus();
  WireWriter mine;
  mine.Put<int64_t>(static_cast<int64_t>(share->task_P.size()));
  for (const TaskRecord& task : share->task_P) Put(task, mine);
  mine.Put<int64_t>(static_cast<int64_t>(share->episode_N.size()));
  for (const EpisodeRecord& episode : share->episode_N) Put(episode, mine);
  mine.PutArray(share->first_outcome_N);
  mine.PutArray(share->outcome_N);
  mine.Put<int64_t>(static_cast<int64_t>(share->evaluation_replies.size()));
  for (const EvaluationReply& said : share->evaluation_replies) Put(said, mine);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, GatherBytes(comm, 0, mine.bytes()));
  if (comm.rank() != 0) return absl::OkStatus();
  StepShare whole;
  for (const std::string& bytes : all) Append(WireReader(bytes), &whole);
  Order(whole.evaluation_replies);
  *share = std::move(whole);
  return absl::OkStatus();
}

}  // namespace reprise::rl
