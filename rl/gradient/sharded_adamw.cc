#include "rl/gradient/sharded_adamw.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/tensor/bounds.h"

namespace reprise::rl {

void ShardedAdamW::Reset(const FlatLayout& layout, const std::vector<ParameterUnit>& units) {
  const std::vector<RateFactor> factors = ReadRateFactors(config_);
  int64_t begin = 0;
  units_.clear();
  for (const ParameterUnit& unit : units) {
    const ParameterSpec& spec = layout.specs[unit.spec];
    units_.push_back({.spec = unit.spec,
                      .offset = unit.offset,
                      .size = unit.size,
                      .begin = begin,
                      .decays = Decays(spec, config_.weight_decay_on),
                      .rate_factor = FindRateFactor(spec.name, factors)});
    begin += unit.size;
  }
  for (std::vector<float>& moments : moments_) moments.assign(static_cast<size_t>(begin), 0.0f);
}

kernels::AdamWStep ShardedAdamW::StepAt(const OptimizerStep& step, double rate_factor) const {
  return kernels::MakeAdamWStep(step.learning_rate * rate_factor, config_.beta1, config_.beta2, config_.epsilon,
                                config_.weight_decay, step.number, step.gradient_scale);
}

bool ShardedAdamW::Update(const OptimizerStep& step, FlatRange range) {
  const kernels::AdamWStep decaying = StepAt(step, 1);
  const int64_t end = range.offset + range.size;
  const auto ends_before = [](const Unit& unit, int64_t at) { return unit.offset + unit.size <= at; };
  auto unit = std::lower_bound(units_.begin(), units_.end(), range.offset, ends_before);
  bool is_sound = true;
  for (; unit != units_.end() && unit->offset < end; ++unit) {
    const int64_t first = std::max(range.offset, unit->offset);
    const int64_t moment = unit->begin + first - unit->offset;
    kernels::AdamWStep own = unit->rate_factor == 1 ? decaying : StepAt(step, unit->rate_factor);
    if (!unit->decays) own.decay = 1;
    is_sound &=
        kernels::AdamWUpdate(std::min(end, unit->offset + unit->size) - first, own, step.gradient.data() + first,
                             step.parameters.data() + first, moments_[0].data() + moment, moments_[1].data() + moment);
  }
  return is_sound;
}

std::optional<ShardedOptimizer::Damage> ShardedAdamW::FindCorruption(absl::Span<const float> parameters) const {
  const std::string remedy = absl::StrCat("raise optimizer.epsilon (", config_.epsilon, ")");
  for (const Unit& unit : units_) {
    for (int64_t k = 0; k < unit.size; ++k) {
      const int64_t place = unit.offset + k;
      const size_t moment = static_cast<size_t>(unit.begin + k);
      const float weight = parameters[place], first = moments_[0][moment], second = moments_[1][moment];
      if (!std::isfinite(second)) return Damage{unit.spec, place, "second moment of ", second, remedy};
      if (!std::isfinite(first)) return Damage{unit.spec, place, "first moment of ", first, remedy};
      if (!(std::fabs(weight) <= kLargestMagnitude)) return Damage{unit.spec, place, "", weight, remedy};
    }
  }
  return std::nullopt;
}

void ShardedAdamW::CopyGroup(size_t group, absl::Span<float> flat) const {
  for (const Unit& unit : units_) {
    std::copy_n(moments_[group].begin() + unit.begin, unit.size, flat.begin() + unit.offset);
  }
}

void ShardedAdamW::SetGroup(size_t group, absl::Span<const float> flat) {
  for (const Unit& unit : units_) {
    std::copy_n(flat.begin() + unit.offset, unit.size, moments_[group].begin() + unit.begin);
  }
}

}  // namespace reprise::rl
