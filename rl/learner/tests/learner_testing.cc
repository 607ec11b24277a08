#include "rl/learner/tests/learner_testing.h"

#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/episodes/episode_source.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_streams.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"
#include "rl/workloads/completions/prepared_completions.h"

namespace reprise::rl::testing {
namespace {

class CorruptingSource : public EpisodeSource {
 public:
  CorruptingSource(std::unique_ptr<EpisodeSource> source, const RunOptions& how, int rank, models::Model& model)
      : source_(std::move(source)), how_(how), rank_(rank), model_(model) {}

  absl::StatusOr<Episodes> Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) override {
    absl::StatusOr<Episodes> episodes = source_->Draw(phase, step, tasks);
    if (episodes.ok()) how_.spoil(rank_, phase, step, model_, *episodes);
    return episodes;
  }
  const std::vector<EvaluationReply>* StoredEvaluation(int64_t step) const override {
    return source_->StoredEvaluation(step);
  }
  int64_t refills() const override { return source_->refills(); }

 private:
  const std::unique_ptr<EpisodeSource> source_;
  const RunOptions& how_;
  const int rank_;
  models::Model& model_;
};

// Completions whose episodes and rewards a test may change.
class TestedCompletions : public PreparedCompletions {
 public:
  TestedCompletions(PreparedCompletions prepared, const RunOptions& how)
      : PreparedCompletions(std::move(prepared)), how_(how) {}

  absl::StatusOr<std::unique_ptr<Workload>> Start(const WorkloadRun& run) override {
    ASSIGN_OR_RETURN(CompletionsDeps parts, MakeDeps(run));
    if (how_.spoil) {
      parts.source = std::make_unique<CorruptingSource>(std::move(parts.source), how_, run.comm.rank(), *model);
    }
    for (RewardFunction& function : parts.rewards.functions) {
      if (how_.reward && function) function = how_.reward;
    }
    return CompletionsWorkload::Create(std::move(parts));
  }

 private:
  const RunOptions& how_;
};

// Returns the steps as a run stores them. Numbers that a replay computes anew are 0 where the records lack them.
std::vector<StepTables> StoredSteps(std::vector<StepRecord> records, RecordForm form) {
  std::vector<StepTables> steps;
  for (StepRecord& record : records) {
    for (EpisodeRecord& episode : record.episode_N) {
      CompletionEpisode& completion = CompletionOf(episode);
      episode.logprobs.resize(completion.tokens.size());
      episode.entropies.resize(completion.tokens.size());
      for (std::vector<float>* values : {&episode.ref_logprobs, &episode.behaviour_logprobs}) {
        if (!values->empty()) values->resize(completion.tokens.size());
      }
      for (TurnRecord& turn : completion.turn_K) {
        if (!form.checks_actions) turn.check.reset();
        if (form.checks_actions && !turn.check) turn.check.emplace();
      }
    }
    steps.push_back(ToTables(record, form));
  }
  return steps;
}

}  // namespace

Config SmallRun() {
  Config config;
  config.run.seed = 7;
  config.run.steps = 4;
  config.model.hidden_size = 32;
  config.model.intermediate_size = 24;
  config.model.num_key_value_heads = 2;
  config.model.initializer_range = 0.1;
  config.data.min_length = 2;
  config.data.max_length = 4;
  config.data.alphabet_size = 4;
  config.sft.steps = 3;
  config.sft.prompts_per_step = 12;
  config.rollout.prompts_per_step = 11;
  config.rollout.num_generations = 4;
  config.rollout.max_completion_length = 7;
  config.algorithm.update.num_iterations = 2;
  config.algorithm.reward.functions = "character_match";
  config.optimizer.learning_rate = 1e-3;
  return config;
}

absl::StatusOr<bool> MemorySink::Commit(const StepTables& step) {
  ASSIGN_OR_RETURN(StepRecord record, FromTables(step, form));
  records.push_back(std::move(record));
  return true;
}

absl::Status MemorySink::Checkpoint(const PolicyState& state) {
  std::vector<TensorGroup> groups = state.optimizer;
  groups.push_back({"weights", state.weights});
  groups.push_back({"best_weights", state.best_weights});
  for (const TensorGroup& group : groups) {
    for (const TensorView& tensor : group.tensors) checkpoint.push_back(Sha256(tensor.bytes));
  }
  return checkpoint_status;
}

absl::Status MemorySink::SaveState(const PolicyState& state) {
  const auto flat = [](const std::vector<TensorView>& tensors) {
    std::vector<float> values;
    for (const TensorView& tensor : tensors) {
      values.insert(values.end(), tensor.data<float>().begin(), tensor.data<float>().end());
      values.resize((values.size() + 15) / 16 * 16);  // as FlatLayout pads
    }
    return values;
  };
  std::vector<FlatGroup> optimizer;
  for (const TensorGroup& group : state.optimizer) optimizer.push_back({group.name, flat(group.tensors)});
  states.push_back({.phase = state.phase,
                    .step = state.step,
                    .updates = state.updates,
                    .num_tokens = state.num_tokens,
                    .weights = flat(state.weights),
                    .optimizer = std::move(optimizer),
                    .schedules = state.schedules,
                    .reference = flat(state.reference),
                    .best = state.best,
                    .best_weights = flat(state.best_weights)});
  return absl::OkStatus();
}

absl::Status RunLearner(const Config& config, const RunOptions& how, Outcome* outcome) {
  std::mutex mutex;
  outcome->sink.form = MakeRecordForm(config);
  const std::vector<StepTables> stored =
      how.replay == nullptr ? std::vector<StepTables>() : StoredSteps(*how.replay, outcome->sink.form);
  outcome->last_weights_R.resize(static_cast<size_t>(how.ranks));
  outcome->status_R.resize(static_cast<size_t>(how.ranks));
  return RunAsRanks(how.ranks, [&](Communicator& comm) -> absl::Status {
    auto parts = PrepareRun(config);
    if (!parts.ok()) return parts.status();
    const bool hears = how.interrupted_rank < 0 || how.interrupted_rank == comm.rank();
    parts->workload = std::make_unique<TestedCompletions>(std::move(GetPreparedCompletions(*parts)), how);
    const auto execution = Execution::Create({.config = config,
                                              .parts = *parts,
                                              .comm = comm,
                                              .sink = &outcome->sink,
                                              .records = how.replay == nullptr ? nullptr : &stored,
                                              .interrupt = hears ? how.interrupt : nullptr});
    if (!execution.ok()) return execution.status();
    Learner& learner = (*execution)->learner();
    if (how.from != nullptr) learner.Restore(*how.from);
    const absl::Status status = how.instead ? how.instead(learner.step_context()) : learner.Run(how.stop_after_step);
    const std::lock_guard<std::mutex> lock(mutex);
    const LearnerCounts counts = learner.counts();
    outcome->counts += counts;
    outcome->counts.exchange.buckets += counts.exchange.buckets;
    outcome->counts.exchange.early_buckets += counts.exchange.early_buckets;
    outcome->counts.helped_pieces += counts.helped_pieces;
    outcome->counts.activation_bytes += counts.activation_bytes;
    outcome->traffic += comm.traffic();
    outcome->exchange_traffic += comm.exchange_traffic();
    outcome->refills += (*execution)->workload().execution_counts().at(0).second;
    outcome->last_weights_R[comm.rank()] = Sha256(AsBytes(parts->workload->policy().parameters()));
    outcome->status_R[comm.rank()] = status;
    return status;
  });
}

void ExpectSame(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.sink.records.size(), b.sink.records.size());
  for (size_t i = 0; i < a.sink.records.size(); ++i) {
    const auto divergence = FirstDivergence(a.sink.records[i], b.sink.records[i], {});
    ASSERT_FALSE(divergence.has_value()) << divergence->ToString();
  }
  EXPECT_EQ(a.sink.checkpoint, b.sink.checkpoint);
}

double GetMetric(const StepRecord& record, absl::string_view name) {
  for (const auto& [key, value] : record.metrics) {
    if (key == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace reprise::rl::testing
