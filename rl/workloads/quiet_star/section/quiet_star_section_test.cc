#include "rl/workloads/quiet_star/section/quiet_star_section.h"

#include <set>
#include <string>

#include "core/config/field_list.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

// The rewards of runs that differ in another key cannot be compared.
TEST(QuietStarSectionTest, TheseKeysShapeThePolicyAndNotTheProblem) {
  QuietStarConfig section;
  config::FieldList list;
  const config::Condition always = {.holds = [] { return true; }, .needs = ""};
  VisitQuietStar(list, section, {always, always, always, always});
  std::set<std::string> shaping;
  for (const config::Field& field : list.fields()) {
    if (ShapesThoughtPolicy(field.section, field.key)) shaping.insert(std::string(field.key));
    EXPECT_FALSE(ShapesThoughtPolicy("data", field.key)) << field.key;
  }
  EXPECT_EQ(shaping, (std::set<std::string>{"delimiters_like", "delimiter_gradient_weight", "mixing", "bounded_mixing",
                                            "mixing_heads", "mixing_dropout", "value_hidden", "values_train_decoder",
                                            "base_weight", "talk_weight", "counted", "kl_direction"}));
}

}  // namespace
}  // namespace reprise::rl
