#include "rl/policy/encoder/encoder_policy.h"

#include <algorithm>
#include <any>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "kernels/sampling/sampling.h"
#include "models/decoder/testing/testing.h"
#include "rl/policy/encoder/encoder_testing.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;
using testing::kActions;
using testing::kTemperature;
using testing::Pass;
using testing::RandomPolicy;
using testing::RunPass;
using testing::SmallEncoder;
using testing::TextShard;
using Texts = std::vector<std::vector<int32_t>>;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> LogitsOf(const EncoderPolicy& policy, const Texts& texts, const PassMemory& memory = {}) {
  const auto logits = policy.Logits(texts, policy.NewWorkspace(memory, Team()).get());
  EXPECT_OK(logits);
  return logits.ok() ? *logits : std::vector<float>();
}

std::vector<float> ScoresOf(const Policy& policy, const ShardInput& shard, float temperature) {
  std::vector<float> logprobs;
  policy.Score(
      shard, temperature,
      [&](int64_t, absl::Span<const float> logprob_T, absl::Span<const float>) {
        logprobs.insert(logprobs.end(), logprob_T.begin(), logprob_T.end());
      },
      policy.NewWorkspace({}, Team()).get());
  return logprobs;
}

class EncoderPolicyTest : public ::testing::Test {
 protected:
  EncoderPolicyTest()
      : config_(SmallEncoder()), policy_(RandomPolicy(config_, /*has_values=*/true, 1)), shard_(config_, 4), pool_(1) {}

  std::vector<float> Parameters() const { return {policy_->parameters().begin(), policy_->parameters().end()}; }

  const models::DecoderConfig config_;
  const std::unique_ptr<EncoderPolicy> policy_;
  const TextShard shard_;
  ThreadPool pool_;
};

TEST_F(EncoderPolicyTest, TheHeadsAreBehindTheEncoderUnderTheirNames) {
  const models::DecoderLayout trunk = models::TrunkLayout(config_);
  std::vector<std::string> names;
  for (size_t i = trunk.specs.size(); i < policy_->layout().specs.size(); ++i) {
    names.push_back(absl::StrCat(policy_->layout().specs[i].name, " ", ToString(policy_->layout().specs[i].shape)));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"action_head.0.weight [12, 24]", "action_head.0.bias [12]",
                                             "action_head.1.weight [4, 12]", "action_head.1.bias [4]",
                                             "value_head.0.weight [12, 24]", "value_head.0.bias [12]",
                                             "value_head.1.weight [1, 12]", "value_head.1.bias [1]"}));
  EXPECT_EQ(policy_->layout().specs[trunk.specs.size()].offset, trunk.total);
}

TEST_F(EncoderPolicyTest, ANewActionHeadIsNearlyUniform) {
  policy_->InitializeHeads(3);
  policy_->Refresh(pool_);
  for (const float logprob : ScoresOf(*policy_, shard_.input(), 1.0f)) EXPECT_NEAR(logprob, std::log(0.25), 0.1);
}

TEST_F(EncoderPolicyTest, MicroBatchesThreadsAndRecomputationChangeNoBit) {
  const auto reference = RandomPolicy(config_, false, 2);
  const PassTotals totals = testing::ComputeTotals(*policy_, shard_.input());
  const Pass whole = RunPass(*policy_, shard_.input(), {.reference = reference.get(), .totals = totals});
  EXPECT_EQ(whole.counts.micro_batches, 1);
  ThreadPool pool(3);
  for (const int64_t max_rows : {0, 1, 5, 12, 1000}) {
    for (const bool recompute : {false, true}) {
      for (const Team& team : {Team(), Team(pool)}) {
        const Pass cut =
            RunPass(*policy_, shard_.input(),
                    {.memory = {max_rows, recompute}, .team = team, .reference = reference.get(), .totals = totals});
        EXPECT_EQ(cut.gradient, whole.gradient) << max_rows;
        EXPECT_EQ(cut.logprobs, whole.logprobs) << max_rows;
        EXPECT_EQ(cut.divergences, whole.divergences) << max_rows;
        EXPECT_EQ(cut.values, whole.values) << max_rows;
        EXPECT_EQ(cut.sum_M, whole.sum_M) << max_rows;
        EXPECT_EQ(cut.counts.completion_rows, whole.counts.completion_rows);
        EXPECT_EQ(cut.counts.micro_batches > 1, max_rows > 0 && max_rows < 1000);
      }
    }
  }
}

TEST_F(EncoderPolicyTest, EveryTensorIsReportedOnceAndWithoutEpisodesNone) {
  std::vector<int> finished;
  RunPass(*policy_, shard_.input(), {.memory = {5}, .finished = &finished});
  std::sort(finished.begin(), finished.end());
  std::vector<int> all(policy_->layout().specs.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  EXPECT_EQ(finished, all);
  finished.clear();
  const Pass empty = RunPass(*policy_, {}, {.finished = &finished});
  EXPECT_TRUE(finished.empty());
  EXPECT_EQ(empty.gradient, std::vector<float>(empty.gradient.size(), 0.0f));
  EXPECT_EQ(empty.sum_M.size(), static_cast<size_t>(policy_->counts_per_layer()));
}

TEST_F(EncoderPolicyTest, WithoutAValueLossTheValueHeadHasNoGradient) {
  const Pass pass = RunPass(*policy_, shard_.input(), {.with_values = false});
  const size_t first = static_cast<size_t>(policy_->FrozenLayout().total);
  EXPECT_TRUE(std::all_of(pass.gradient.begin() + static_cast<ptrdiff_t>(first), pass.gradient.end(),
                          [](float g) { return g == 0; }));
  EXPECT_TRUE(pass.values.empty());
}

TEST_F(EncoderPolicyTest, ScoresHaveTheBitsOfThePassAndSumToOne) {
  EXPECT_EQ(ScoresOf(*policy_, shard_.input(), kTemperature), RunPass(*policy_, shard_.input()).logprobs);
  std::vector<float> behaviour;
  policy_->ScoreBehaviour(
      shard_.input(),
      [&](int64_t, absl::Span<const float> logprob_T) {
        behaviour.insert(behaviour.end(), logprob_T.begin(), logprob_T.end());
      },
      policy_->NewWorkspace({}, Team()).get());
  EXPECT_EQ(behaviour, ScoresOf(*policy_, shard_.input(), 1.0f));
  double sum = 0;
  for (int32_t action = 0; action < kActions; ++action) {
    EpisodeRecord episode = shard_.episode_N()[0];
    std::any_cast<TextDecisions&>(episode.content).action_T = {action};
    sum += std::exp(ScoresOf(*policy_, {{nullptr, {&episode}, {0}}}, 1.0f)[0]);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST_F(EncoderPolicyTest, ADrawnActionHasTheLogProbabilityThatIsScored) {
  const Texts texts = shard_.DecisionTexts();
  std::vector<float> logits = LogitsOf(*policy_, texts);
  for (size_t n = 0; n < texts.size(); ++n) {
    kernels::SamplingWorkspace workspace;
    const kernels::SampledToken drawn =
        kernels::SampleToken(kActions, logits.data() + n * kActions, {.temperature = kTemperature},
                             static_cast<double>(n) / static_cast<double>(texts.size()), &workspace);
    EpisodeRecord episode;
    episode.decisions.count = 1;
    episode.content = TextDecisions{{texts[n]}, {drawn.token}};
    EXPECT_EQ(ScoresOf(*policy_, {{nullptr, {&episode}, {0}}}, kTemperature), std::vector<float>{drawn.logprob});
  }
}

TEST_F(EncoderPolicyTest, ATextAloneHasTheBitsOfABatch) {
  const Texts texts = shard_.DecisionTexts();
  const auto workspace = policy_->NewWorkspace({}, Team());
  ASSERT_OK_AND_ASSIGN(const std::vector<float> embeddings, policy_->Encode(texts, workspace.get()));
  const std::vector<float> logits = LogitsOf(*policy_, texts);
  ASSERT_EQ(embeddings.size(), texts.size() * 24);
  ASSERT_EQ(logits.size(), texts.size() * kActions);
  for (size_t n = 0; n < texts.size(); ++n) {
    ASSERT_OK_AND_ASSIGN(const std::vector<float> alone, policy_->Encode({texts[n]}, workspace.get()));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), embeddings.begin() + static_cast<ptrdiff_t>(n * 24))) << n;
    const std::vector<float> of_alone = LogitsOf(*policy_, {texts[n]});
    EXPECT_TRUE(std::equal(of_alone.begin(), of_alone.end(), logits.begin() + static_cast<ptrdiff_t>(n * kActions)));
  }
  EXPECT_EQ(LogitsOf(*policy_, texts, {.max_rows = 4}), logits);
  EXPECT_TRUE(LogitsOf(*policy_, {}).empty());
}

TEST_F(EncoderPolicyTest, IdenticalTextsAreEncodedOnce) {
  const Texts texts = shard_.DecisionTexts();
  const std::set<std::vector<int32_t>> distinct(texts.begin(), texts.end());
  const int64_t count = static_cast<int64_t>(distinct.size());
  ASSERT_LT(distinct.size(), texts.size());
  int64_t tokens = 0;
  for (const std::vector<int32_t>& text : distinct) tokens += static_cast<int64_t>(text.size());
  int64_t read = 0;
  for (const std::vector<int32_t>& text : texts) read += static_cast<int64_t>(text.size());
  EXPECT_EQ(policy_->RowsOf(shard_.input()), read);
  const auto workspace = policy_->NewWorkspace({.max_rows = 7}, Team());
  ASSERT_OK(policy_->Logits(texts, workspace.get()));
  EXPECT_EQ(EncoderPolicy::EncodedTexts(*workspace), count);
  ASSERT_OK(policy_->Encode(texts, workspace.get()));
  EXPECT_EQ(EncoderPolicy::EncodedTexts(*workspace), 2 * count);
  for (const int64_t max_rows : {0, 7}) {
    const Pass pass = RunPass(*policy_, shard_.input(), {.memory = {max_rows}});
    EXPECT_EQ(pass.encoded_texts, count);
    EXPECT_EQ(pass.counts.completion_rows, tokens);
    EXPECT_EQ(RunPass(*policy_, shard_.input(), {.memory = {max_rows}, .reference = policy_.get()}).encoded_texts,
              2 * count);
  }
}

TEST_F(EncoderPolicyTest, AFrozenCopyEncodesEachTextOnceAStepUntilItChanges) {
  const auto other = RandomPolicy(config_, /*has_values=*/false, 2);
  const std::unique_ptr<Policy> reference = other->FrozenCopy();
  ShardInput input = shard_.input();
  const Pass fresh = RunPass(*policy_, input, {.reference = other.get()});
  const int64_t count = fresh.encoded_texts / 2;  // of the policy
  const auto pass_of = [&](const ShardInput& shard) {
    return RunPass(*policy_, shard, {.reference = reference.get()});
  };
  // A part of the shard first: of the whole, only the other texts are encoded.
  const int64_t of_part = pass_of({input.front()}).encoded_texts / 2;
  ASSERT_LT(of_part, count);
  const Pass first = pass_of(input), again = pass_of(input);
  EXPECT_EQ(first.encoded_texts, 2 * count - of_part);
  EXPECT_EQ(again.encoded_texts, count);
  EXPECT_EQ(first.divergences, fresh.divergences);
  EXPECT_EQ(again.divergences, fresh.divergences);
  EXPECT_EQ(again.gradient, fresh.gradient);
  for (EpisodeGroup& group : input) group.step = 5;
  EXPECT_EQ(pass_of(input).encoded_texts, 2 * count);
  for (EpisodeGroup& group : input) group.phase = Phase::kSft;
  EXPECT_EQ(pass_of(input).encoded_texts, 2 * count);
  reference->mutable_parameters()[reference->layout().specs.back().offset] += 1.0f;
  reference->Refresh(pool_);
  const Pass changed = pass_of(input);
  EXPECT_EQ(changed.encoded_texts, 2 * count);
  EXPECT_NE(changed.divergences, fresh.divergences);
  reference->MoveTowards(*other, 1, pool_);
  EXPECT_EQ(pass_of(input).divergences, fresh.divergences);
}

TEST_F(EncoderPolicyTest, ATruncatedEpisodeHasAValueMore) {
  for (const bool after_truncation : {false, true}) {
    std::vector<float> values;
    size_t last = 0;
    policy_->PredictValues(
        shard_.input(), after_truncation,
        [&](int64_t, absl::Span<const float> value_T) {
          values.insert(values.end(), value_T.begin(), value_T.end());
          last = value_T.size();
        },
        policy_->NewWorkspace({.max_rows = 6}, Team()).get());
    const std::vector<float> passed = RunPass(*policy_, shard_.input()).values;
    EXPECT_EQ(last, after_truncation ? 3u : 2u);
    ASSERT_EQ(values.size(), passed.size() + (after_truncation ? 1 : 0));
    EXPECT_TRUE(std::equal(passed.begin(), passed.end(), values.begin()));
  }
}

// Runs with float and with bf16 weights; with bf16 the embedding is packed too.
class FrozenEncoderTest : public ::testing::TestWithParam<bool> {
 protected:
  FrozenEncoderTest() : shard_(SmallEncoder(), 3), pool_(1) {
    models::DecoderConfig config = SmallEncoder();
    config.bf16_weights = GetParam();
    policy_ = RandomPolicy(config, /*has_values=*/true, 1);
    reference_ = policy_->FrozenCopy();
  }

  void Change(Policy& policy) {
    for (float& weight : policy.mutable_parameters()) weight += 0.125f;
    policy.Refresh(pool_);
  }
  std::vector<float> Scores(const Policy& policy) const { return ScoresOf(policy, shard_.input(), 1.0f); }

  const TextShard shard_;
  ThreadPool pool_;
  std::unique_ptr<EncoderPolicy> policy_;
  std::unique_ptr<Policy> reference_;
};

INSTANTIATE_TEST_SUITE_P(InFloatsAndBf16, FrozenEncoderTest, ::testing::Bool());

TEST_P(FrozenEncoderTest, HasNoValuesAndKeepsItsNumbersWhenThePolicyChanges) {
  EXPECT_EQ(reference_->layout().total, policy_->FrozenLayout().total);
  EXPECT_EQ(reference_->layout().specs.size(), policy_->layout().specs.size() - 4);
  EXPECT_NE(reference_->parameters().data(), policy_->parameters().data());
  EXPECT_TRUE(reference_->SharesWith(*policy_));
  const std::vector<float> scores = Scores(*policy_);
  EXPECT_EQ(Scores(*reference_), scores);
  Change(*policy_);
  EXPECT_FALSE(reference_->SharesWith(*policy_));
  EXPECT_EQ(Scores(*reference_), scores);
  EXPECT_NE(Scores(*policy_), scores);
}

TEST_P(FrozenEncoderTest, EachOfItsParametersIsItsOwn) {
  const std::vector<float> scores = Scores(*policy_);
  for (float& weight : reference_->mutable_parameters()) weight = 0.5f;
  EXPECT_EQ(Scores(*policy_), scores);
  reference_->Refresh(pool_);
  EXPECT_EQ(Scores(*policy_), scores);
  EXPECT_NE(Scores(*reference_), scores);
}

TEST_P(FrozenEncoderTest, MovesTowardsThePolicy) {
  const std::vector<float> before(reference_->parameters().begin(), reference_->parameters().end());
  Change(*policy_);
  reference_->MoveTowards(*policy_, 0.5, pool_);
  EXPECT_FALSE(reference_->SharesWith(*policy_));
  for (const ParameterSpec& spec : reference_->layout().specs) {
    const size_t at = static_cast<size_t>(spec.offset);
    EXPECT_NEAR(reference_->parameters()[at], (before[at] + policy_->parameters()[at]) / 2, 1e-6) << spec.name;
  }
  const std::vector<float> middle = Scores(*reference_);
  EXPECT_NE(middle, Scores(*policy_));
  reference_->MoveTowards(*policy_, 1, pool_);
  EXPECT_TRUE(reference_->SharesWith(*policy_));
  EXPECT_EQ(Scores(*reference_), Scores(*policy_));
}

// With adapters of all modules.
class EncoderAdapterTest : public ::testing::Test {
 protected:
  static models::DecoderConfig WithAdapters() {
    models::DecoderConfig config = SmallEncoder();
    config.lora = {.r = 3, .alpha = 6};
    return config;
  }
  // Returns the numbers of tensors of the encoder's adapters.
  static size_t AdapterTensors(const models::DecoderConfig& config) {
    return static_cast<size_t>(2 * config.num_hidden_layers * (4 + 3 * config.num_experts));
  }
};

TEST_F(EncoderAdapterTest, HeadsAreBehindTheAdaptersAndNewOnesChangeNothing) {
  const models::DecoderConfig config = WithAdapters();
  const auto policy = EncoderPolicy::Create(config, {.actions = kActions}, 1.0f);
  ASSERT_OK(policy);
  const std::vector<ParameterSpec>& specs = (*policy)->layout().specs;
  ASSERT_EQ(specs.size(), AdapterTensors(config) + 4);
  EXPECT_EQ(specs[AdapterTensors(config)].name, "action_head.0.weight");
  ThreadPool pool(1);
  const models::DecoderLayout trunk = models::TrunkLayout(config);
  ASSERT_OK((*policy)->LoadBase(pool, [&](int spec, absl::Span<float> values) {
    models::InitializeTensor(config, trunk, 4, spec, values);
    return absl::OkStatus();
  }));
  (*policy)->InitializeEncoder(4);
  (*policy)->Refresh(pool);
  auto whole = EncoderPolicy::Create(SmallEncoder(), {.actions = kActions}, 1.0f);
  (*whole)->InitializeEncoder(4);
  (*whole)->Refresh(pool);
  const Texts texts = TextShard(config, 4).DecisionTexts();
  const auto embed = [&](const EncoderPolicy& of) { return *of.Encode(texts, of.NewWorkspace({}, Team()).get()); };
  EXPECT_EQ(embed(**policy), embed(**whole));
}

TEST_F(EncoderAdapterTest, MicroBatchesAndThreadsChangeNoBitAndEveryTensorIsReportedOnce) {
  const models::DecoderConfig config = WithAdapters();
  const auto policy = RandomPolicy(config, /*has_values=*/true, 1);
  const TextShard shard(config, 4);
  const auto reference = policy->FrozenCopy();
  EXPECT_TRUE(reference->SharesWith(*policy));
  std::vector<int> finished;
  const Pass whole = RunPass(*policy, shard.input(), {.reference = reference.get(), .finished = &finished});
  EXPECT_EQ(finished.size(), policy->layout().specs.size());
  EXPECT_EQ(std::set<int>(finished.begin(), finished.end()).size(), finished.size());
  for (const ParameterSpec& spec : policy->layout().specs) {
    double squares = 0;
    for (int64_t i = 0; i < spec.size; ++i) {
      squares += std::pow(static_cast<double>(whole.gradient[spec.offset + i]), 2);
    }
    EXPECT_GT(squares, 0) << spec.name;
  }
  ThreadPool pool(3);
  for (const int64_t max_rows : {1, 9}) {
    const Pass cut = RunPass(*policy, shard.input(),
                             {.memory = {.max_rows = max_rows}, .team = Team(pool), .reference = reference.get()});
    EXPECT_EQ(cut.gradient, whole.gradient) << max_rows;
    EXPECT_EQ(cut.logprobs, whole.logprobs);
  }
}

// Draws and passes of a step drop the same inputs; another step drops others, and a reference none.
TEST_F(EncoderAdapterTest, DropoutIsAFunctionOfTheStepAndTheText) {
  models::DecoderConfig config = WithAdapters();
  const TextShard shard(config, 4);
  const std::vector<float> undropped = ScoresOf(*RandomPolicy(config, false, 1), shard.input(), 1.0f);
  config.lora.dropout = 0.2;
  const auto policy = RandomPolicy(config, /*has_values=*/false, 1);
  ShardInput input = shard.input();
  for (EpisodeGroup& group : input) group.step = 5;
  const std::vector<float> scores = ScoresOf(*policy, input, 1.0f);
  EXPECT_NE(scores, undropped);
  EXPECT_NE(scores, ScoresOf(*policy, shard.input(), 1.0f));
  EXPECT_EQ(ScoresOf(*policy->FrozenCopy(), input, 1.0f), undropped);
  const Texts texts = shard.DecisionTexts();
  const auto logits = policy->Logits(texts, policy->NewWorkspace({}, Team()).get(), TextDropout{0, 5});
  ASSERT_OK(logits);
  std::vector<int32_t> actions;
  for (const EpisodeRecord& episode : shard.episode_N()) {
    const std::vector<int32_t>& action_T = TextDecisionsIn(episode).action_T;
    actions.insert(actions.end(), action_T.begin(), action_T.end());
  }
  for (size_t r = 0; r < actions.size(); ++r) {
    double sum = 0;
    for (int64_t a = 0; a < kActions; ++a) sum += std::exp((*logits)[r * kActions + static_cast<size_t>(a)]);
    const double logit = (*logits)[r * kActions + static_cast<size_t>(actions[r])];
    EXPECT_NEAR(scores[r], logit - std::log(sum), 1e-5) << r;
  }
}

TEST_F(EncoderPolicyTest, ATextThatCannotBeEncodedIsRejected) {
  EXPECT_THAT(policy_->CheckText({}),
              StatusIs(kInvalid, "the text is empty: only a text of at least one token can be encoded"));
  EXPECT_THAT(policy_->CheckText(std::vector<int32_t>(97, 3)),
              StatusIs(kInvalid, "the text has 97 tokens, but the encoder has only 96 positions: truncate the text"));
  EXPECT_OK(policy_->CheckText(std::vector<int32_t>(96, 36)));
  for (const int32_t token : {-1, 37}) {
    EXPECT_THAT(policy_->CheckText({{4, token}}),
                StatusIs(kInvalid, absl::StrCat("token 1 of the text is ", token,
                                                ", but the encoder's vocabulary has 37 tokens, from 0: use the "
                                                "encoder's tokenizer")));
  }
  const auto workspace = policy_->NewWorkspace({}, Team());
  const Texts texts = {{3, 4}, {}};
  EXPECT_THAT(policy_->Logits(texts, workspace.get()), StatusIs(kInvalid, HasSubstr("text 1 of 2")));
  EXPECT_THAT(policy_->Encode(texts, workspace.get()), StatusIs(kInvalid, HasSubstr("the text is empty")));
  EXPECT_EQ(EncoderPolicy::EncodedTexts(*workspace), 0);
}

TEST_F(EncoderPolicyTest, EmbeddingsOfAnotherWidthAreRejectedWithBothWidths) {
  const std::vector<float> embedding(37);
  std::vector<float> logits(kActions);
  EXPECT_THAT(policy_->ActionLogits({embedding.data(), 1, 37}, {logits.data(), 1, kActions}),
              StatusIs(kInvalid,
                       "the action head reads embeddings of width 24, but these have width 37: encode texts "
                       "with the policy's own encoder"));
}

TEST_F(EncoderPolicyTest, AnInvalidShapeIsRejected) {
  EXPECT_THAT(EncoderPolicy::Create(config_, {.actions = 1}, 1.0f),
              StatusIs(kInvalid, "a policy chooses among at least 2 actions, but there are 1"));
  models::DecoderConfig config = config_;
  config.num_experts_per_tok = 6;
  EXPECT_THAT(EncoderPolicy::Create(config, {}, 1.0f), StatusIs(kInvalid, HasSubstr("num_experts_per_tok")));
  config = config_;
  config.tie_word_embeddings = true;
  config.value_model = models::ValueModel::kNetwork;
  ASSERT_OK_AND_ASSIGN(const auto policy, EncoderPolicy::Create(config, {.actions = kActions}, 1.0f));
  EXPECT_EQ(policy->layout().total, policy_->FrozenLayout().total);
}

TEST_F(EncoderPolicyTest, AnActionThatDoesNotExistIsNotScored) {
  EpisodeRecord episode = shard_.episode_N()[0];
  std::any_cast<TextDecisions&>(episode.content).action_T = {kActions};
  EXPECT_DEATH(ScoresOf(*policy_, {{nullptr, {&episode}, {0}}}, 1.0f), "action_R");
}

TEST_F(EncoderPolicyTest, CorruptWeightsAndStaleCopiesOfThemAreNamed) {
  const EpisodeRecord& episode = shard_.episode_N()[2];
  EXPECT_EQ(policy_->FindCorruption({}, episode), "");
  const std::vector<float> healthy = Parameters();
  const models::DecoderLayout trunk = models::TrunkLayout(config_);
  const auto parameter = [&](int64_t at) -> float& { return policy_->mutable_parameters()[at]; };
  parameter(trunk.total + 3) += 1;
  EXPECT_EQ(policy_->FindCorruption({}, episode), "a packed copy of the heads' weights");
  parameter(trunk.total + 3) = kNan;
  EXPECT_EQ(policy_->FindCorruption({}, episode), "action_head.0.weight (element 3 is nan)");
  parameter(trunk.total + 3) = healthy[trunk.total + 3];
  parameter(policy_->layout().specs.back().offset) += 1;  // the value head's bias
  EXPECT_EQ(policy_->FindCorruption({}, episode), "a packed copy of the heads' weights");
  parameter(trunk.specs[trunk.layers[1].o].offset) += 1;
  EXPECT_EQ(policy_->FindCorruption({}, episode),
            "model.layers.1.self_attn.o_proj.weight, whose packed copy for the kernels differs");
}

}  // namespace
}  // namespace reprise::rl
