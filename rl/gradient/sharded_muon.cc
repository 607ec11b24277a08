#include "rl/gradient/sharded_muon.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/tensor/bounds.h"
#include "kernels/math/scalar_math.h"
#include "kernels/optimizer/adamw.h"
#include "kernels/optimizer/muon.h"
#include "kernels/optimizer/orthogonalize.h"

namespace reprise::rl {
namespace {

// Kimi's factor gives a matrix's update the root mean square that AdamW's typically has (arXiv 2502.16982).
double UpdateScale(const OptimizerConfig& config, int64_t rows, int64_t width) {
  const double r = static_cast<double>(rows), c = static_cast<double>(width);
  return config.muon_scale == MuonScale::kRms ? 0.2 * kernels::Sqrt(std::max(r, c))
                                              : kernels::Sqrt(std::max(1.0, r / c));
}

}  // namespace

void ShardedMuonGrokfast::Reset(const FlatLayout& layout, const std::vector<ParameterUnit>& units) {
  const std::vector<RateFactor> factors = ReadRateFactors(config_);
  int64_t end[kGroups] = {};
  units_.clear();
  for (const ParameterUnit& of : units) {
    const ParameterSpec& spec = layout.specs[of.spec];
    Unit unit = {.spec = of.spec, .offset = of.offset, .size = of.size};
    unit.decays = Decays(spec, config_.weight_decay_on);
    unit.rate_factor = FindRateFactor(spec.name, factors);
    // Filters of convolutions are matrices of [outputs, rest].
    if (config_.muon && spec.kind == ParameterKind::kMatrix && spec.shape.size() >= 2 && of.size == spec.size) {
      unit.rows = spec.shape.front();
      unit.width = spec.size / spec.shape.front();
    }
    for (size_t group = 0; group < kGroups; ++group) {
      unit.begin[group] = end[group];
      if (unit.has(group)) end[group] += unit.size;
    }
    units_.push_back(unit);
  }
  for (size_t group = 0; group < kGroups; ++group) state_[group].assign(static_cast<size_t>(end[group]), 0.0f);
}

bool ShardedMuonGrokfast::Update(const OptimizerStep& step, FlatRange range) {
  const kernels::GrokfastFilter filter = kernels::MakeGrokfastFilter(
      config_.grokfast_alpha, config_.grokfast_lambda, config_.grokfast_start == GrokfastStart::kGradient,
      config_.grokfast_amplifies == GrokfastBand::kFast, step.number, step.gradient_scale);
  const auto starts_before = [](const Unit& unit, int64_t at) { return unit.offset < at; };
  auto unit = std::lower_bound(units_.begin(), units_.end(), range.offset, starts_before);
  bool is_sound = true;
  std::vector<float> filtered;
  for (; unit != units_.end() && unit->offset < range.offset + range.size; ++unit) {
    CHECK_LE(unit->offset + unit->size, range.offset + range.size);
    filtered.resize(static_cast<size_t>(unit->size));
    kernels::FilterGradient(unit->size, filter, step.gradient.data() + unit->offset, UnitState(*unit, kMeans),
                            filtered.data());
    is_sound &=
        unit->is_matrix() ? UpdateMatrix(step, *unit, absl::MakeSpan(filtered)) : UpdateByAdamW(step, *unit, filtered);
  }
  return is_sound;
}

bool ShardedMuonGrokfast::UpdateMatrix(const OptimizerStep& step, const Unit& unit, absl::Span<float> filtered) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  kernels::AddMomentum(unit.size, static_cast<float>(config_.momentum), config_.nesterov, filtered.data(),
                       UnitState(unit, kMomenta), filtered.data());
  // Numbers that are not finite would spread over the matrix: the state shows where they were first.
  if (!std::all_of(filtered.begin(), filtered.end(), is_finite)) return false;
  const kernels::Rows direction = {filtered.data(), unit.rows, unit.width};
  if (config_.ns_steps == 0) {
    kernels::Orthogonalize(direction);
  } else {
    kernels::NewtonSchulz(config_.ns_steps, direction);
  }
  const double scale = UpdateScale(config_, unit.rows, unit.width);
  const double rate = step.learning_rate * unit.rate_factor;
  const double decay = unit.decays ? 1.0 - rate * config_.weight_decay : 1.0;
  return kernels::TakeStep(unit.size, static_cast<float>(rate * scale), static_cast<float>(decay), filtered.data(),
                           step.parameters.data() + unit.offset);
}

bool ShardedMuonGrokfast::UpdateByAdamW(const OptimizerStep& step, const Unit& unit, absl::Span<const float> filtered) {
  const kernels::AdamWStep own = kernels::MakeAdamWStep(
      FallbackRate(config_, step.learning_rate) * unit.rate_factor, config_.beta1, config_.beta2, config_.epsilon,
      unit.decays ? config_.weight_decay : 0, step.number, /*gradient_scale=*/1);
  return kernels::AdamWUpdate(unit.size, own, filtered.data(), step.parameters.data() + unit.offset,
                              UnitState(unit, kMomenta), UnitState(unit, kSecondMoments));
}

std::optional<ShardedOptimizer::Damage> ShardedMuonGrokfast::FindCorruption(absl::Span<const float> parameters) const {
  constexpr const char* kNames[kGroups] = {"running mean of the gradients of ", "momentum of ", "second moment of "};
  const std::string remedy = absl::StrCat("lower optimizer.grokfast_lambda (", config_.grokfast_lambda,
                                          "), or optimizer.fallback_learning_rate (", config_.fallback_learning_rate,
                                          "), which a step multiplies by its learning rate / optimizer.learning_rate (",
                                          config_.learning_rate, ")");
  for (const Unit& unit : units_) {
    for (int64_t k = 0; k < unit.size; ++k) {
      const int64_t place = unit.offset + k;
      for (size_t group = 0; group < kGroups; ++group) {
        if (!unit.has(group)) continue;
        const float value = state_[group][unit.begin[group] + k];
        if (!std::isfinite(value)) return Damage{unit.spec, place, kNames[group], value, remedy};
      }
      const float weight = parameters[place];
      if (!(std::fabs(weight) <= kLargestMagnitude)) return Damage{unit.spec, place, "", weight, remedy};
    }
  }
  return std::nullopt;
}

void ShardedMuonGrokfast::CopyGroup(size_t group, absl::Span<float> flat) const {
  for (const Unit& unit : units_) {
    const auto to = flat.begin() + unit.offset;
    if (unit.has(group)) {
      std::copy_n(state_[group].begin() + unit.begin[group], unit.size, to);
    } else {
      std::fill_n(to, unit.size, 0.0f);
    }
  }
}

void ShardedMuonGrokfast::SetGroup(size_t group, absl::Span<const float> flat) {
  for (const Unit& unit : units_) {
    if (!unit.has(group)) continue;
    std::copy_n(flat.begin() + unit.offset, unit.size, state_[group].begin() + unit.begin[group]);
  }
}

}  // namespace reprise::rl
