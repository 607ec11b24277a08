#include "rl/gradient/updater.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/policy/decoder/decoder_policy.h"
#include "rl/policy/decoder/shard_testing.h"

namespace reprise::rl {
namespace {

// Scales each unit's gradient by its largest element, which needs the whole unit, and adds it to a velocity.
class UnitOptimizer final : public ShardedOptimizer {
 public:
  std::vector<std::string> groups() const override { return {"velocity", "gradient"}; }
  bool is_elementwise() const override { return false; }
  void Reset(const FlatLayout& layout, const std::vector<ParameterUnit>& units) override {
    units_ = units;
    for (std::vector<float>& group : state_) group.assign(static_cast<size_t>(layout.total), 0.0f);
  }
  bool Update(const OptimizerStep& step, FlatRange range) override {
    EXPECT_TRUE(std::any_of(units_.begin(), units_.end(), [&](const ParameterUnit& unit) {
      return unit.offset == range.offset && unit.size == range.size;
    })) << range.offset;
    const size_t begin = static_cast<size_t>(range.offset), end = begin + static_cast<size_t>(range.size);
    float largest = 1e-30f;
    for (size_t i = begin; i < end; ++i) largest = std::max(largest, std::fabs(step.gradient[i]));
    for (size_t i = begin; i < end; ++i) {
      state_[0][i] = 0.5f * state_[0][i] + step.gradient[i] / largest;
      state_[1][i] = step.gradient[i];
      step.parameters[i] -= static_cast<float>(step.learning_rate) * state_[0][i];
    }
    return true;
  }
  std::optional<Damage> FindCorruption(absl::Span<const float>) const override { return std::nullopt; }
  void CopyGroup(size_t group, absl::Span<float> flat) const override {
    for (const ParameterUnit& unit : units_) {
      std::copy_n(state_[group].begin() + unit.offset, unit.size, flat.begin() + unit.offset);
    }
  }
  void SetGroup(size_t group, absl::Span<const float> flat) override { state_[group].assign(flat.begin(), flat.end()); }

 private:
  std::vector<ParameterUnit> units_;
  std::vector<float> state_[2];
};

using NewOptimizer = std::function<std::unique_ptr<ShardedOptimizer>()>;

struct Outcome {
  std::vector<float> weights;
  std::vector<FlatGroup> state;
};

// A model and what updates it on one rank; every logical shard has one group or none.
class Run {
 public:
  static constexpr int kShards = 4;

  Run(Communicator& comm, const NewOptimizer& make)
      : comm_(comm), shards_(*ShardMap::Create(kShards, comm.size())), pool_(2), make_(make) {
    Start();
  }

  void Start() {
    updater_ = std::make_unique<Updater>(policy_, shards_, make_(), /*max_grad_norm=*/0, PassMemory(),
                                         ExchangeOptions(), comm_, pool_);
  }

  absl::Status Update() {
    const ShardRange range = shards_.ShardsOf(comm_.rank());
    std::vector<ShardInput> inputs(static_cast<size_t>(range.end - range.begin));
    for (int shard = range.begin; shard < std::min<int>(range.end, static_cast<int>(example_.groups.size())); ++shard) {
      inputs[shard - range.begin] = {example_.GroupEpisodes(static_cast<size_t>(shard))};
    }
    const EpisodeLoss loss = [](int64_t episode, const DecisionScores&, const DecisionGradients& gradients) {
      std::fill(gradients.dlogprob_T.begin(), gradients.dlogprob_T.end(), 0.1f - 0.07f * static_cast<float>(episode));
      return absl::OkStatus();
    };
    const PassTotals totals = {.step_rows = 1, .rows = 1, .learns = false};
    ASSIGN_OR_RETURN(const GradientResult gradient,
                     updater_->gradient().Compute(inputs, {1.0f, totals, loss, nullptr}));
    return updater_->Apply(gradient.norm, /*learning_rate=*/1e-3, "optimizer.learning_rate");
  }

  models::Model& model() { return *example_.model; }
  Updater& updater() { return *updater_; }

 private:
  Communicator& comm_;
  const ShardMap shards_;
  ThreadPool pool_;
  const NewOptimizer make_;
  testing::ExampleShard example_;
  DecoderPolicy policy_{*example_.model, {}};
  std::unique_ptr<Updater> updater_;
};

// Two updates; between them, if `resumes`, everything but weights and state is made anew.
Outcome TwoUpdates(const NewOptimizer& make, int ranks, bool resumes) {
  Outcome outcome;
  EXPECT_OK(RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
    Run run(comm, make);
    RETURN_IF_ERROR(run.Update());
    if (resumes) {
      ASSIGN_OR_RETURN(const std::vector<FlatGroup> state, run.updater().GatherState());
      run.Start();
      run.updater().Restore(state, 1);
    }
    RETURN_IF_ERROR(run.Update());
    ASSIGN_OR_RETURN(std::vector<FlatGroup> state, run.updater().GatherState());
    EXPECT_FALSE(run.model().decoder().weights.FirstDamage()) << "the packed copies are of other weights";
    if (comm.rank() != ranks - 1) return absl::OkStatus();
    outcome.weights.assign(run.model().parameters().begin(), run.model().parameters().end());
    outcome.state = std::move(state);
    return absl::OkStatus();
  }));
  return outcome;
}

// Expects the same bits on any number of ranks, and of a run whose state was restored.
void ExpectSameBits(const NewOptimizer& make) {
  const Outcome alone = TwoUpdates(make, 1, false);
  for (const int ranks : {1, 2, 4}) {
    for (const bool resumes : {false, true}) {
      SCOPED_TRACE(::testing::Message() << ranks << " ranks" << (resumes ? ", restored" : ""));
      const Outcome other = TwoUpdates(make, ranks, resumes);
      EXPECT_EQ(other.weights, alone.weights);
      ASSERT_EQ(other.state.size(), alone.state.size());
      for (size_t i = 0; i < alone.state.size(); ++i) {
        EXPECT_EQ(other.state[i].name, alone.state[i].name);
        EXPECT_EQ(other.state[i].values, alone.state[i].values) << i;
      }
    }
  }
}

TEST(UpdaterTest, AnOptimizerOfWholeUnitsHasTheSameBitsOnAnyRanksAndAfterItsStateWasRestored) {
  const NewOptimizer make = [] { return std::make_unique<UnitOptimizer>(); };
  const Outcome alone = TwoUpdates(make, 1, false);
  ASSERT_EQ(alone.state.size(), 2u);
  EXPECT_NE(alone.state[0].values, alone.state[1].values);
  ExpectSameBits(make);
}

TEST(UpdaterTest, MuonGrokfastHasTheSameBitsOnAnyRanksAndAfterItsStateWasRestored) {
  const NewOptimizer make = [] {
    return MakeOptimizer({.name = OptimizerName::kMuonGrokfast,
                          .learning_rate = 1e-3,
                          .learning_rate_factors = R"({"*.self_attn.*": 0.5, "model.embed_tokens.*": 0})"});
  };
  const Outcome alone = TwoUpdates(make, 1, false);
  ASSERT_EQ(alone.state.size(), 3u);
  for (const FlatGroup& group : alone.state) EXPECT_NE(group.values, std::vector<float>(group.values.size()));
  ExpectSameBits(make);
}

}  // namespace
}  // namespace reprise::rl
