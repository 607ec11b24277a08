#include "rl/config/preset_testing.h"

#include "core/config/field_list.h"
#include "rl/config/config.h"

namespace reprise::rl {

void SelectPreset(absl::string_view name, AlgorithmConfig* algorithm) {
  Config before, chosen, after;
  before.algorithm = FindAlgorithm(algorithm->name).value();
  chosen.algorithm = *algorithm;
  after.algorithm = FindAlgorithm(name).value();
  config::FieldList of_before, of_chosen, of_after;
  Visit(of_before, before);
  Visit(of_chosen, chosen);
  Visit(of_after, after);
  for (size_t i = 0; i < of_chosen.fields().size(); ++i) {
    const config::Field& field = of_chosen.fields()[i];
    if (field.key == "name" || field.Get() == of_before.fields()[i].Get()) continue;
    of_after.fields()[i].Put(field.Get());
  }
  *algorithm = after.algorithm;
}

}  // namespace reprise::rl
