// Promise: a run of growing networks has the same bits on any number of ranks and threads and with any micro-batch, and
// when it is replayed; its controller learns.

#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/config/check.h"
#include "rl/config/load.h"
#include "rl/record/table_row.h"
#include "rl/run/workloads.h"
#include "rl/workloads/morphogenesis/section/morphogenesis_section.h"
#include "tests/workloads/training.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config MakeGrowthConfig(const std::string& more = "") {
  return ConfigOf(
      "[run]\nworkload = \"morphogenesis\"\nsteps = 2\nlogical_shards = 4\n"
      "[morphogenesis]\ntrain_examples = 8\nvalidation_examples = 8\nbatch_size = 4\nimage_size = 8\n"
      "base_channels = 2\nblocks = 2\nmax_epochs = 7\nhost_learning_rate = 0\ntrunk = \"8\"\nhidden = \"6\"\n" +
      more);
}

const std::string kPrompts = "[rollout]\nprompts_per_step = 7\nnum_generations = ";
const std::string kCases[] = {
    kPrompts +
        "1\n[algorithm]\nname = \"ppo\"\nmini_batch_size = 3\nminibatches_of = \"episodes\"\nnum_iterations = 2\n"
        "target_kl = 0.01\ntarget_kl_of = \"iterations\"\nreward_scaling = \"running\"\n"
        "[sft]\nsteps = 1\nprompts_per_step = 5\n[evaluation]\nevery = 2\nnum_prompts = 3\nnum_generations = 1\n",
    "lstm = 4\nnormalizes_features = true\nreward = \"contribution\"\n" + kPrompts +
        "2\n[algorithm]\nname = \"ppo\"\nbeta = 0.1\nbootstrap_truncated = false\n",
    "reward = \"loss\"\ntelemetry = false\n" + kPrompts + "2\n[algorithm]\nname = \"grpo\"\n",
};

class MorphogenesisTest : public ::testing::TestWithParam<std::string> {};

TEST_P(MorphogenesisTest, RanksThreadsAndMicroBatchesChangeNoBit) {
  const Config config = MakeGrowthConfig(GetParam());
  const std::vector<StepTables> steps = Train(config);
  ASSERT_EQ(static_cast<int64_t>(steps.size()), config.sft.steps + config.run.steps);
  ExpectSame(config, steps, Train(config, 3));
  Config other = config;
  other.execution.threads = 3;
  other.execution.micro_batch_tokens = 8;
  ExpectSame(config, steps, Train(other, 2));
}

TEST_P(MorphogenesisTest, AReplayComputesTheRecord) {
  const Config config = MakeGrowthConfig(GetParam());
  const std::vector<StepTables> steps = Train(config);
  ExpectSame(config, steps, Train(config, 2, &steps));
}

INSTANTIATE_TEST_SUITE_P(Cases, MorphogenesisTest, ::testing::ValuesIn(kCases));

TEST(MorphogenesisReplayTest, ACorruptedRowIsASentence) {
  const Config config = MakeGrowthConfig(kCases[2]);
  std::vector<StepTables> steps = Train(config);
  for (StreamTable& table : steps[0].tables) {
    if (table.schema().name == "decisions") table.MutableValues<int32_t>(kFirstOwn + 3)[0] = 99;
  }
  EXPECT_THAT(CheckTables(MakeRecordSchema(config), steps[0]),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its action is not allowed")));
}

TEST(MorphogenesisConfigTest, ValuesThatDoNotGoTogetherAreRejected) {
  const auto error = [](const std::string& growth, const std::string& algorithm = "ppo") {
    Config config = MakeGrowthConfig("[algorithm]\nname = \"" + algorithm + "\"\n");
    if (growth == "small") config.morphogenesis.blocks = 4;
    if (growth == "folder") config.morphogenesis.data_path = "/cifar";
    if (growth == "trunk") config.morphogenesis.trunk = "8 x";
    if (growth == "heads") {
      config.morphogenesis.task = "tinystories";
      config.morphogenesis.width = 6;
      config.morphogenesis.heads = 2;
    }
    if (growth == "epochs") {
      config.morphogenesis.lstm = 4;
      config.algorithm.update.num_iterations = 5;
    }
    return std::string(CheckConfig(config, 1).message());
  };
  EXPECT_EQ(error(""), "");
  EXPECT_THAT(error("small"), HasSubstr("image_size is 8, but morphogenesis.blocks 4 halves rows that many times: give "
                                        "images of 16 rows, or fewer blocks"));
  EXPECT_THAT(error("folder"), HasSubstr("morphogenesis.image_size 8 is that of generated images"));
  EXPECT_THAT(error("trunk"), HasSubstr("morphogenesis.trunk: \"8 x\" is not a list"));
  EXPECT_THAT(error("heads"), HasSubstr("morphogenesis.width is 6, but not every seed fits: blueprint 'attention' for "
                                        "transformer has 4 heads, which do not divide the width 6"));
  EXPECT_THAT(error("epochs"), HasSubstr("algorithm.num_iterations is 5, but with morphogenesis.lstm it is at most 4"));
  EXPECT_THAT(error("", "remax"), HasSubstr("has no baselines that need more episodes"));
}

TEST(MorphogenesisConfigTest, WarnsOfManyEpochsOfAControllerThatRemembers) {
  Config config = MakeGrowthConfig();
  config.algorithm.update.num_iterations = 3;
  const auto warnings = [&] {
    return MorphogenesisWarnings(config.morphogenesis, config.algorithm.update.num_iterations);
  };
  EXPECT_THAT(warnings(), IsEmpty());
  config.morphogenesis.lstm = 4;
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("more than 2 epochs of updates")));
  config.algorithm.update.num_iterations = 2;
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST(MorphogenesisConfigTest, StoresOnlyTheKeysThatItReads) {
  const std::string canonical = CanonicalConfig(MakeGrowthConfig());
  EXPECT_NE(canonical.find("\nmorphogenesis.hidden = \"6\"\n"), std::string::npos) << canonical;
  for (const char* other : {"model.", "data.path", "rollout.top_k", "memory."}) {
    EXPECT_EQ(canonical.find(other), std::string::npos) << other;
  }
}

TEST(MorphogenesisConfigTest, AMissingFolderOrFileIsASentence) {
  Config config = MakeGrowthConfig();
  config.morphogenesis.image_size = 32;
  config.morphogenesis.data_path = "/nothing/here";
  RunParts parts;
  EXPECT_THAT(KindOf(config).prepare(config, RunUse::kTraining, &parts),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nothing/here/data_batch_1.bin is missing")));
  config.morphogenesis.task = "tinystories";
  EXPECT_THAT(KindOf(config).prepare(config, RunUse::kTraining, &parts),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("morphogenesis.data_path must name a text file")));
}

}  // namespace
}  // namespace reprise::rl
