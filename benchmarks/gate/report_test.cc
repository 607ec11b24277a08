#include "benchmarks/gate/report.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace reprise::gate {
namespace {

Decided Some(const std::string& name, bool judged, Outcome outcome) {
  return {{.name = name, .claim = "It is.", .at_least = 0.5, .repetitions = 7}, {judged, {outcome, 0.4321, 0.002}, 2}};
}
const Decided kHeld = Some("a", true, Outcome::kHeld), kUncertain = Some("b", true, Outcome::kUncertain),
              kFell = Some("c", true, Outcome::kFell), kOpen = Some("d", false, Outcome::kFell);

TEST(ReportTest, AGateIsReportedWithItsNumbers) {
  EXPECT_EQ(DecisionLine(kFell),
            "fell        c                        0.4321, expected >= 0.5  (by chance: 0.002; 7 pairs)");
  EXPECT_EQ(DecisionJson(kFell).dump(),
            "{\"event\":\"gate\",\"name\":\"c\",\"claim\":\"It is.\",\"outcome\":\"fell\",\"ratio\":0.4321,"
            "\"chance\":0.002,\"at_least\":0.5,\"repetitions\":7,\"looks\":2}");
  EXPECT_EQ(DecisionLine(kOpen), "not judged  d                        >= 0.5  (other processes used the machine)");
  EXPECT_TRUE(DecisionJson(kOpen)["ratio"].is_null());
}

TEST(ReportTest, AGateWithoutABoundIsReportedAndCannotFail) {
  Decided reported = Some("e", true, Outcome::kReported), unseen = Some("f", false, Outcome::kHeld);
  for (Decided* const decided : {&reported, &unseen}) decided->gate.at_least = 0, decided->gate.judged = false;
  EXPECT_EQ(DecisionLine(reported), "reported    e                        0.4321  (no bound; 7 pairs)");
  EXPECT_EQ(DecisionJson(reported)["ratio"], 0.4321);
  EXPECT_FALSE(DecisionJson(reported).contains("at_most"));
  EXPECT_EQ(VerdictLine({kHeld, reported, unseen}), "PASS: 1 gate held");
  EXPECT_EQ(ExitCodeOf({kHeld, reported, unseen}), 0);
}

TEST(ReportTest, AFailedGateOutweighsOneThatWasNotJudged) {
  EXPECT_EQ(VerdictLine({kHeld, kFell, kOpen}), "FAIL: 1 of 3 gates failed: c");
  EXPECT_EQ(ExitCodeOf({kHeld, kFell, kOpen}), 1);
  EXPECT_EQ(VerdictLine({kHeld, kOpen}), "NOT JUDGED: other processes used the machine during 1 of 2 gates: d");
  EXPECT_EQ(ExitCodeOf({kHeld, kOpen}), 75);
  EXPECT_EQ(VerdictLine({kHeld, kUncertain}), "PASS: 2 gates held");
  EXPECT_EQ(ExitCodeOf({kHeld, kUncertain}), 0);
  EXPECT_EQ(VerdictJson({kHeld, kUncertain}).dump(),
            "{\"event\":\"verdict\",\"pass\":true,\"fell\":[],\"uncertain\":[\"b\"],\"not_judged\":[]}");
}

}  // namespace
}  // namespace reprise::gate
