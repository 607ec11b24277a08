#include "rl/workloads/bandit/section/bandit_section.h"

#include <set>
#include <string>

#include "core/config/field_list.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

// The rewards of runs that differ in another key cannot be compared.
TEST(BanditSectionTest, TheseKeysShapeThePolicyAndNotTheProblem) {
  BanditConfig section;
  config::FieldList list;
  const config::Condition always = {.holds = [] { return true; }, .needs = ""};
  VisitBandit(list, section, always);
  std::set<std::string> shaping;
  for (const config::Field& field : list.fields()) {
    if (ShapesBanditPolicy(field.section, field.key)) shaping.insert(std::string(field.key));
    EXPECT_FALSE(ShapesBanditPolicy("data", field.key)) << field.key;
  }
  EXPECT_EQ(shaping, (std::set<std::string>{"hidden", "activation", "layer_norm"}));
}

}  // namespace
}  // namespace reprise::rl
