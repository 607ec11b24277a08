#include "rl/workloads/memory_agent/memory_task.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {
namespace {

TEST(MemoryTaskTest, EveryNoteHasAQueryOfSeveralWords) {
  std::set<absl::string_view> queries;
  for (const absl::string_view note : kNotes) {
    const absl::string_view query = QueryFor(note);
    EXPECT_LT(query.size(), note.size()) << note;
    EXPECT_GE(std::count(query.begin(), query.end(), ' '), 3) << note;
    queries.insert(query);
  }
  EXPECT_EQ(queries.size(), 10u);
  EXPECT_EQ(kNumPlans, 4);
}

TEST(MemoryTaskTest, TheSamePlaceGivesTheSameTaskAndAnotherPlaceAnother) {
  const MemoryTask task = DrawMemoryTask(7, Purpose::kTask, 3, 5, 2);
  EXPECT_EQ(task, DrawMemoryTask(7, Purpose::kTask, 3, 5, 2));
  for (const MemoryTask& other :
       {DrawMemoryTask(8, Purpose::kTask, 3, 5, 2), DrawMemoryTask(7, Purpose::kEvaluationTask, 3, 5, 2),
        DrawMemoryTask(7, Purpose::kTask, 3, 6, 2), DrawMemoryTask(7, Purpose::kTask, 3, 5, 3)}) {
    EXPECT_NE(task.note_S, other.note_S);
  }
}

TEST(MemoryTaskTest, TasksHaveAllNotesInAnyOrderAndEveryPlan) {
  std::set<int32_t> first, plans;
  for (uint64_t prompt = 0; prompt < 100; ++prompt) {
    MemoryTask task = DrawMemoryTask(1, Purpose::kTask, 3, 1, prompt);
    first.insert(task.note_S.front());
    plans.insert(task.plan);
    std::sort(task.note_S.begin(), task.note_S.end());
    std::vector<int32_t> all(static_cast<size_t>(kNumNotes));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(task.note_S, all);
  }
  EXPECT_EQ(first.size(), 10u);
  EXPECT_EQ(plans, (std::set<int32_t>{0, 1, 2, 3}));
}

TEST(MemoryTaskTest, LengthsAreThoseOfTheStage) {
  for (int stage = 1; stage <= kMemoryStages; ++stage) {
    std::set<int64_t> lengths;
    for (uint64_t sample = 0; sample < 200; ++sample) {
      lengths.insert(DrawEpisodeLength(3, DrawMemoryTask(3, Purpose::kTask, stage, 1, 4), sample));
    }
    EXPECT_EQ(*lengths.begin(), kLengthsOfStage[stage - 1].least);
    EXPECT_EQ(*lengths.rbegin(), kLengthsOfStage[stage - 1].most);
  }
}

RC_GTEST_PROP(DrawDistinctTest, DrawsDifferentNumbersBelowTheBound, ()) {
  const int32_t n = *rc::gen::inRange<int32_t>(0, 20), count = *rc::gen::inRange<int32_t>(0, n + 1);
  const std::vector<int32_t> drawn = DrawDistinct(*rc::gen::arbitrary<uint64_t>(), Purpose::kTest, {}, n, count);
  RC_ASSERT(drawn.size() == static_cast<size_t>(count));
  RC_ASSERT(std::set<int32_t>(drawn.begin(), drawn.end()).size() == drawn.size());
  for (const int32_t number : drawn) RC_ASSERT(number >= 0 && number < n);
}

}  // namespace
}  // namespace reprise::rl
