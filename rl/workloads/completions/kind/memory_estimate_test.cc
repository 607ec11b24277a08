#include "rl/workloads/completions/kind/memory_estimate.h"

#include <algorithm>
#include <bit>

#include "core/comm/exchange/buffer_pool.h"
#include "core/comm/exchange/shard_tree.h"
#include "core/testing/status_matchers.h"
#include "kernels/isa/isa.h"
#include "models/decoder/parameters.h"
#include "rapidcheck/gtest.h"
#include "rl/config/check.h"
#include "rl/workloads/completions/kind/decoder_cost.h"
#include "rl/workloads/completions/kind/gradient_shares.h"

namespace reprise::rl {
namespace {

int64_t FindBytes(const MemoryEstimate& estimate, const std::string& what) {
  for (const MemoryItem& item : estimate.items) {
    if (item.what == what) return item.bytes;
  }
  ADD_FAILURE() << "no item " << what;
  return 0;
}

MemoryEstimate EstimateRunMemory(const Config& config, int64_t ranks = 1, int64_t threads = 1) {
  return EstimateMemory(config, FromScratchDecoder(config.model), ranks, threads, {.prompt = 5, .sft = 9});
}

class MemoryEstimateTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(kernels::InitializeIsa()); }
};

TEST_F(MemoryEstimateTest, PartialSumsHoldOnePlusTheLogarithmOfTheShardsGradients) {
  Config config;
  config.run.logical_shards = 8;
  const MemoryEstimate estimate = EstimateRunMemory(config);
  EXPECT_EQ(FindBytes(estimate, "gradient partial sums"), (1 + 3) * FindBytes(estimate, "weights"));
  EXPECT_EQ(FindBytes(estimate, "weights"), 4 * models::MakeDecoderLayout(FromScratchDecoder(config.model)).total);
}

TEST_F(MemoryEstimateTest, ARankPerShardHoldsOneGradientAndExchangesIt) {
  Config config;
  const MemoryEstimate alone = EstimateRunMemory(config), shared = EstimateRunMemory(config, 8);
  EXPECT_EQ(FindBytes(shared, "gradient partial sums"), FindBytes(shared, "weights"));
  EXPECT_EQ(FindBytes(alone, "exchange between ranks"), 0);
  EXPECT_GT(FindBytes(shared, "exchange between ranks"), 0);
  EXPECT_LT(FindBytes(shared, "optimizer slices"), FindBytes(alone, "optimizer slices") / 4);
}

TEST_F(MemoryEstimateTest, AnExactDivergenceNeedsTheReferencesPassOnlyWhereItHasAWeight) {
  const auto has_pass = [](double beta) {
    Config config;
    config.algorithm = FindAlgorithm("agemem").value();
    SetBeta(beta, &config.algorithm);
    const MemoryEstimate estimate = EstimateRunMemory(config);
    return std::any_of(estimate.items.begin(), estimate.items.end(),
                       [](const MemoryItem& item) { return item.what == "the reference's activations"; });
  };
  EXPECT_TRUE(has_pass(0.1));
  EXPECT_FALSE(has_pass(0));
}

TEST_F(MemoryEstimateTest, AdaptersLeaveGradientsAndMomentsOfThemselvesAloneAndAReferenceSharesTheFrozenModel) {
  Config config;
  SetBeta(0.1, &config.algorithm);
  models::DecoderConfig decoder = FromScratchDecoder(config.model);
  const LongestTexts longest = {.prompt = 5, .sft = 9};
  const MemoryEstimate whole = EstimateMemory(config, decoder, 1, 1, longest);
  config.lora.r = 4;
  decoder.lora = AdaptersOf(config.lora);
  const MemoryEstimate adapters = EstimateMemory(config, decoder, 1, 1, longest);
  const int64_t trained = models::MakeDecoderLayout(decoder).total, frozen = models::MakeBaseLayout(decoder).total;
  EXPECT_LT(trained, frozen / 2);
  EXPECT_EQ(FindBytes(adapters, "weights"), 4 * trained);
  EXPECT_EQ(FindBytes(adapters, "gradient partial sums"), 4 * 4 * trained);
  EXPECT_LT(FindBytes(adapters, "optimizer slices"), FindBytes(whole, "optimizer slices") / 2);
  EXPECT_GT(FindBytes(adapters, "packed copies"), FindBytes(whole, "packed copies"));
  EXPECT_LT(FindBytes(adapters, "reference model"), FindBytes(whole, "reference model"));
  // By then training has freed more than the merged model takes.
  EXPECT_EQ(FindBytes(adapters, "merged model, while exported"), 0);
  decoder.vocab_size = 1 << 20;
  const MemoryEstimate wide = EstimateMemory(config, decoder, 1, 1, longest);
  const int64_t freed = wide.total_bytes() - FindBytes(wide, "merged model, while exported") -
                        FindBytes(wide, "weights") - FindBytes(wide, "packed copies") -
                        FindBytes(wide, "backward scratch") - FindBytes(wide, "program and libraries");
  EXPECT_EQ(FindBytes(wide, "merged model, while exported"), 4 * models::MakeBaseLayout(decoder).total - freed);
}

// An input of down_proj has the experts' width; only dropout keeps a copy of it.
TEST_F(MemoryEstimateTest, AdaptersNeedRoomForTheWidestOfTheirInputsAndOutputs) {
  Config config;
  models::DecoderConfig decoder = FromScratchDecoder(config.model);
  decoder.intermediate_size = 10 * decoder.hidden_size;
  decoder.num_experts = decoder.num_experts_per_tok = 2;
  const int64_t width = decoder.hidden_size, wide = decoder.intermediate_size;
  EXPECT_EQ(AdapterScratchFloats(decoder, 100), 0);
  decoder.lora = {.r = 4};
  EXPECT_EQ(AdapterScratchFloats(decoder, 100), 100 * (2 * wide + 3 * 4));
  decoder.lora.dropout = 0.1;
  EXPECT_EQ(AdapterScratchFloats(decoder, 100), 100 * (4 * wide + 3 * 4));
  decoder.num_experts = 8;  // half of the rows at the fullest expert
  EXPECT_EQ(AdapterScratchFloats(decoder, 100), 50 * 4 * wide + 100 * 3 * 4);
  decoder.lora.targets = {true, true, true, true};
  EXPECT_EQ(AdapterScratchFloats(decoder, 100), 100 * (4 * width + 3 * 4));
}

TEST_F(MemoryEstimateTest, SmallerMicroBatchesAndFewerSlotsTakeLess) {
  Config config;
  const MemoryEstimate whole = EstimateRunMemory(config);
  config.execution.micro_batch_tokens = 128;
  config.execution.decode_slots = 4;
  const MemoryEstimate bounded = EstimateRunMemory(config);
  EXPECT_LT(FindBytes(bounded, "activations"), FindBytes(whole, "activations"));
  EXPECT_LT(FindBytes(bounded, "key and value caches"), FindBytes(whole, "key and value caches"));
  EXPECT_LT(bounded.total_bytes(), whole.total_bytes());
}

TEST_F(MemoryEstimateTest, RecomputedActivationsTakeLess) {
  Config config;
  const MemoryEstimate kept = EstimateRunMemory(config);
  config.execution.activation_checkpointing = true;
  EXPECT_LT(FindBytes(EstimateRunMemory(config), "activations"), FindBytes(kept, "activations"));
}

TEST_F(MemoryEstimateTest, WeightsInBf16TakeAboutHalfOfThePackedCopies) {
  Config config;
  const MemoryEstimate floats = EstimateRunMemory(config);
  config.model.weights_dtype = WeightsDtype::kBf16;
  EXPECT_LT(FindBytes(EstimateRunMemory(config), "packed copies"), FindBytes(floats, "packed copies") * 6 / 10);
  EXPECT_EQ(FindBytes(EstimateRunMemory(config), "weights"), FindBytes(floats, "weights"));
}

TEST_F(MemoryEstimateTest, EveryShardInProgressSumsATiedEmbeddingSeparately) {
  Config config;
  config.model.tie_word_embeddings = true;
  const int64_t embedding = config.model.vocab_size * config.model.hidden_size;
  EXPECT_EQ(FindBytes(EstimateRunMemory(config), "tied embedding's gradient"), 4 * embedding);
  EXPECT_EQ(FindBytes(EstimateRunMemory(config, 1, 2), "tied embedding's gradient"), 2 * 4 * embedding);
}

TEST_F(MemoryEstimateTest, AReferenceModelIsCountedWhereThereIsOne) {
  Config config;
  const int64_t without = EstimateRunMemory(config).total_bytes();
  SetBeta(0.1, &config.algorithm);
  const MemoryEstimate with = EstimateRunMemory(config);
  EXPECT_EQ(with.total_bytes(), without + FindBytes(with, "reference model"));
  SetBeta(0, &config.algorithm);
  config.algorithm.kl.schedule = KlSchedule::kLinear;
  EXPECT_EQ(EstimateRunMemory(config).total_bytes(), with.total_bytes());
}

TEST_F(MemoryEstimateTest, AValueNetworkNeedsAsMuchAsAnotherModelAndAHeadAlmostNothing) {
  Config config;
  SetBeta(0.1, &config.algorithm);
  models::DecoderConfig decoder = FromScratchDecoder(config.model);
  const auto estimate = [&](models::ValueModel value_model) {
    decoder.value_model = value_model;
    return EstimateMemory(config, decoder, 1, 1, {.prompt = 5, .sft = 9});
  };
  const MemoryEstimate none = estimate(models::ValueModel::kNone), head = estimate(models::ValueModel::kHead),
                       network = estimate(models::ValueModel::kNetwork);
  EXPECT_LT(FindBytes(head, "weights"), FindBytes(none, "weights") * 101 / 100);
  EXPECT_GT(FindBytes(network, "weights"), FindBytes(none, "weights") * 18 / 10);
  EXPECT_GT(FindBytes(network, "packed copies"), FindBytes(none, "packed copies") * 18 / 10);
  EXPECT_GT(FindBytes(network, "optimizer slices"), FindBytes(none, "optimizer slices") * 18 / 10);
  for (const MemoryEstimate& each : {head, network}) {  // the reference has no value function
    EXPECT_EQ(FindBytes(each, "reference model"), FindBytes(none, "reference model"));
  }
}

TEST_F(MemoryEstimateTest, SumsInAnyOrderNeedAGradientPerThreadAndAllMomentsForAnyShards) {
  Config config;
  const MemoryEstimate ordered = EstimateRunMemory(config, 2, 2);
  EXPECT_EQ(ordered.not_predicted, "");
  config.run.reduction = Reduction::kFast;
  const MemoryEstimate fast = EstimateRunMemory(config, 2, 2);
  EXPECT_EQ(FindBytes(fast, "gradient partial sums"), 2 * FindBytes(fast, "weights"));
  EXPECT_EQ(FindBytes(fast, "optimizer slices"), FindBytes(EstimateRunMemory(Config(), 1, 2), "optimizer slices"));
  EXPECT_EQ(FindBytes(fast, "exchange between ranks"), 0);
  EXPECT_EQ(FindBytes(fast, "LibTorch's packed copies"), FindBytes(fast, "packed copies"));
  EXPECT_NE(fast.not_predicted, "");
  config.run.logical_shards = 2;
  EXPECT_EQ(EstimateRunMemory(config, 2, 2).total_bytes(), fast.total_bytes());
  config.execution.micro_batch_tokens = 64;  // chains are cut: two per thread
  EXPECT_EQ(FindBytes(EstimateRunMemory(config, 2, 2), "gradient partial sums"), 4 * FindBytes(fast, "weights"));
}

TEST_F(MemoryEstimateTest, AThreadWhoseGroupsAreOneShardHoldsTheirActivationsAtOnce) {
  Config config;
  config.run.logical_shards = 8;
  config.rollout.prompts_per_step = 8;
  const MemoryEstimate ordered = EstimateRunMemory(config);
  config.run.reduction = Reduction::kFast;
  EXPECT_EQ(FindBytes(EstimateRunMemory(config), "activations"), 8 * FindBytes(ordered, "activations"));
}

// Compares with the accumulator itself, filled in its order.
RC_GTEST_PROP(GradientBuffersTest, EqualThoseOfTheShardTreeWithinItsBound, ()) {
  const int shards = 1 << *rc::gen::inRange(0, 8), ranks = *rc::gen::inRange(1, shards + 1);
  const ShardMap map = *ShardMap::Create(shards, ranks);
  int64_t most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    BufferPool pool(1);
    ShardTreeAccumulator accumulator(map, rank, &pool, [](int64_t, const float*, float*) {});
    for (int shard : map.ComputationOrder(rank)) accumulator.Complete(shard, pool.Acquire());
    most = std::max(most, pool.allocated());
  }
  RC_ASSERT(GradientBuffers(shards, ranks, 1, false) == most);
  RC_ASSERT(most <= 1 + std::countr_zero(static_cast<unsigned>(shards)));
  RC_ASSERT(GradientBuffers(shards, 1, 1, true) == GradientBuffers(shards, 1, 1, false) + 1);
}

}  // namespace
}  // namespace reprise::rl
