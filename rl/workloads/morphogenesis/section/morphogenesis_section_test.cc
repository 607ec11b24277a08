#include "rl/workloads/morphogenesis/section/morphogenesis_section.h"

#include <set>
#include <string>

#include "core/config/field_list.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

// The rewards of runs that differ in another key cannot be compared.
TEST(MorphogenesisSectionTest, TheseKeysShapeThePolicyAndNotTheProblem) {
  MorphogenesisConfig section;
  config::FieldList list;
  const config::Condition always = {.holds = [] { return true; }, .needs = ""};
  VisitMorphogenesis(list, section, always);
  std::set<std::string> shaping;
  for (const config::Field& field : list.fields()) {
    if (IsControllerShapeKey(field.section, field.key)) shaping.insert(std::string(field.key));
    EXPECT_FALSE(IsControllerShapeKey("data", field.key)) << field.key;
  }
  EXPECT_EQ(shaping, (std::set<std::string>{"telemetry", "trunk", "hidden", "lstm", "orthogonal", "normalizes_features",
                                            "normalizes_entropy"}));
}

}  // namespace
}  // namespace reprise::rl
