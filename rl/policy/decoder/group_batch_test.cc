#include "rl/policy/decoder/group_batch.h"

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::rl {
namespace {

TEST(PlanMicroBatchesTest, WithoutALimitAllGroupsAreOneBatch) {
  EXPECT_EQ(PlanMicroBatches({{4, {2, 3}}, {4, {1, 1}}}, 0), (std::vector<MicroBatch>{{0, 2}}));
  EXPECT_TRUE(PlanMicroBatches({}, 0).empty());
}

TEST(PlanMicroBatchesTest, CutsBetweenGroupsWhileTheyFit) {
  const GroupRows group = {4, {2, 3}};  // 9 rows
  EXPECT_EQ(PlanMicroBatches({group, group, group}, 18), (std::vector<MicroBatch>{{0, 2}, {2, 3}}));
  EXPECT_EQ(PlanMicroBatches({group, group, group}, 9), (std::vector<MicroBatch>{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(PlanMicroBatchesTest, CutsInsideAGroupThatDoesNotFit) {
  EXPECT_EQ(PlanMicroBatches({{4, {2, 3, 9, 1}}}, 5),
            (std::vector<MicroBatch>{{0, 1, true, 0, 2}, {0, 1, true, 2, 3}, {0, 1, true, 3, 4}}));
}

RC_GTEST_PROP(PlanMicroBatchesTest, CoversEveryCompletionOnceInOrder, ()) {
  std::vector<GroupRows> groups(static_cast<size_t>(*rc::gen::inRange(0, 8)));
  for (GroupRows& group : groups) {
    group.prompt = *rc::gen::inRange(1, 20);
    group.completion_G = *rc::gen::nonEmpty(rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 30)));
  }
  const int64_t max_rows = *rc::gen::inRange(0, 100);
  int64_t group = 0, completion = 0;
  for (const MicroBatch& batch : PlanMicroBatches(groups, max_rows)) {
    RC_ASSERT(batch.group_begin == group);
    if (!batch.cut) {
      RC_ASSERT(batch.group_end > batch.group_begin && completion == 0);
      group = batch.group_end;
      continue;
    }
    RC_ASSERT(batch.completion_begin == completion && batch.completion_end > completion);
    completion = batch.completion_end;
    if (completion == static_cast<int64_t>(groups[group].completion_G.size())) {
      ++group, completion = 0;
    }
  }
  RC_ASSERT(group == static_cast<int64_t>(groups.size()) && completion == 0);
}

}  // namespace
}  // namespace reprise::rl
