#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "core/random/draw.h"
#include "gtest/gtest.h"
#include "rl/gradient/parameter_units.h"
#include "rl/gradient/sharded_optimizer.h"

namespace reprise::rl {
namespace {

using Doubles = std::vector<double>;

constexpr double kMuonRate = 0.02, kFallbackRate = 0.003, kDecay = 0.1, kClip = 0.5;

FlatLayout TestLayout() {
  FlatLayout layout;
  layout.Append("wide", {3, 5}, ParameterKind::kMatrix);
  layout.Append("tall", {7, 2}, ParameterKind::kMatrix);
  layout.Append("filter", {4, 2, 3}, ParameterKind::kMatrix);
  layout.Append("column", {6, 1}, ParameterKind::kMatrix);
  layout.Append("gain", {9}, ParameterKind::kVector);
  layout.Append("embedding", {8, 3}, ParameterKind::kEmbedding, /*by_rows=*/true);
  layout.Append("head", {2, 3}, ParameterKind::kHead);
  return layout;
}

OptimizerConfig TestConfig() {
  OptimizerConfig config;
  config.name = OptimizerName::kMuonGrokfast;
  config.learning_rate = kMuonRate;
  config.fallback_learning_rate = kFallbackRate;
  config.weight_decay = kDecay;
  return config;
}

std::vector<float> Random(const FlatLayout& layout, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(layout.total));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(2 * DrawUniform(seed, Purpose::kTest, {.token = i}) - 1);
  }
  return values;
}

class Muon {
 public:
  explicit Muon(const OptimizerConfig& config, const FlatLayout& layout = TestLayout())
      : layout(layout),
        units(MakeParameterUnits(layout)),
        optimizer(MakeOptimizer(config)),
        weights(Random(layout, 1)) {
    optimizer->Reset(layout, units);
  }

  bool Step(int64_t number, const std::vector<float>& gradient, double learning_rate) {
    const OptimizerStep step = {number, learning_rate, kClip, gradient, absl::MakeSpan(weights)};
    bool is_sound = true;
    for (const ParameterUnit& unit : units) is_sound &= optimizer->Update(step, {unit.offset, unit.size});
    return is_sound;
  }

  std::vector<float> Group(size_t group) const {
    std::vector<float> flat(weights.size(), -7);
    optimizer->CopyGroup(group, absl::MakeSpan(flat));
    return flat;
  }

  const FlatLayout layout;
  const std::vector<ParameterUnit> units;
  const std::unique_ptr<ShardedOptimizer> optimizer;
  std::vector<float> weights;
};

// Muon's update of one matrix by obvious code in double.
Doubles NewtonSchulz(const Doubles& g, int64_t rows, int64_t width) {
  const bool is_tall = rows > width;
  const int64_t r = std::min(rows, width), c = std::max(rows, width);
  Doubles x(g.size());
  double squares = 0;
  for (const double value : g) squares += value * value;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      x[is_tall ? j * c + i : i * c + j] = g[i * width + j] / std::max(std::sqrt(squares), 1e-7);
    }
  }
  for (int step = 0; step < 5; ++step) {
    Doubles a(static_cast<size_t>(r * r)), b(a.size()), y(x.size());
    const auto at = [](Doubles& m, int64_t stride, int64_t i, int64_t j) -> double& { return m[i * stride + j]; };
    for (int64_t i = 0; i < r; ++i) {
      for (int64_t j = 0; j < r; ++j) {
        for (int64_t k = 0; k < c; ++k) at(a, r, i, j) += at(x, c, i, k) * at(x, c, j, k);
      }
    }
    for (int64_t i = 0; i < r; ++i) {
      for (int64_t j = 0; j < r; ++j) {
        at(b, r, i, j) = -4.7750 * at(a, r, i, j);
        for (int64_t k = 0; k < r; ++k) at(b, r, i, j) += 2.0315 * at(a, r, i, k) * at(a, r, k, j);
      }
    }
    for (int64_t i = 0; i < r; ++i) {
      for (int64_t j = 0; j < c; ++j) {
        at(y, c, i, j) = 3.4445 * at(x, c, i, j);
        for (int64_t k = 0; k < r; ++k) at(y, c, i, j) += at(b, r, i, k) * at(x, c, k, j);
      }
    }
    x = y;
  }
  Doubles result(g.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      result[i * width + j] = x[is_tall ? j * c + i : i * c + j];
    }
  }
  return result;
}

struct ReferenceState {
  Doubles w, mean, first, second;
};

// None of the tensors belongs to a value function, so that weight_decay_on "values" leaves all of them.
void ReferenceStep(const OptimizerConfig& config, const ParameterSpec& spec, const Doubles& gradient, int64_t t,
                   double rate, ReferenceState* s) {
  const bool is_matrix = spec.kind == ParameterKind::kMatrix,
             starts = t == 1 && config.grokfast_start == GrokfastStart::kGradient;
  const bool decays = config.weight_decay_on == DecayedTensors::kAll ||
                      (config.weight_decay_on == DecayedTensors::kMatrices && spec.kind != ParameterKind::kVector);
  const double weight_decay = decays ? kDecay : 0;
  Doubles filtered(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double g = kClip * gradient[i];
    s->mean[i] = starts ? g : 0.98 * s->mean[i] + 0.02 * g;
    filtered[i] = g + 2 * (config.grokfast_amplifies == GrokfastBand::kFast ? g - s->mean[i] : s->mean[i]);
  }
  if (is_matrix) {
    const int64_t rows = spec.shape.front(), width = spec.size / rows;
    Doubles direction(filtered.size());
    for (size_t i = 0; i < filtered.size(); ++i) {
      s->first[i] = 0.95 * s->first[i] + filtered[i];
      direction[i] = config.nesterov ? filtered[i] + 0.95 * s->first[i] : s->first[i];
    }
    direction = NewtonSchulz(direction, rows, width);
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(width)));
    for (size_t i = 0; i < filtered.size(); ++i) {
      s->w[i] = s->w[i] * (1 - rate * weight_decay) - rate * scale * direction[i];
    }
    return;
  }
  const double own_rate = kFallbackRate * rate / kMuonRate;
  for (size_t i = 0; i < filtered.size(); ++i) {
    s->first[i] = 0.9 * s->first[i] + 0.1 * filtered[i];
    s->second[i] = 0.999 * s->second[i] + 0.001 * filtered[i] * filtered[i];
    const double m = s->first[i] / (1 - std::pow(0.9, t)), v = s->second[i] / (1 - std::pow(0.999, t));
    s->w[i] = s->w[i] * (1 - own_rate * weight_decay) - own_rate * m / (std::sqrt(v) + 1e-8);
  }
}

void ExpectReference(const OptimizerConfig& config) {
  Muon muon(config);
  std::vector<ReferenceState> state;
  for (const ParameterSpec& spec : muon.layout.specs) {
    const auto begin = muon.weights.begin() + spec.offset;
    const Doubles zeros(static_cast<size_t>(spec.size));
    state.push_back({Doubles(begin, begin + spec.size), zeros, zeros, zeros});
  }
  for (int64_t t = 1; t <= 4; ++t) {
    const std::vector<float> gradient = Random(muon.layout, 10 + static_cast<uint64_t>(t));
    const double rate = kMuonRate / static_cast<double>(t);  // as a schedule lowers it
    EXPECT_TRUE(muon.Step(t, gradient, rate));
    const std::vector<float> groups[] = {muon.Group(0), muon.Group(1), muon.Group(2)};
    for (size_t n = 0; n < state.size(); ++n) {
      const ParameterSpec& spec = muon.layout.specs[n];
      const auto begin = gradient.begin() + spec.offset;
      ReferenceState& own = state[n];
      ReferenceStep(config, spec, Doubles(begin, begin + spec.size), t, rate, &own);
      for (int64_t i = 0; i < spec.size; ++i) {
        const size_t at = static_cast<size_t>(spec.offset + i), k = static_cast<size_t>(i);
        EXPECT_NEAR(muon.weights[at], own.w[k], 2e-6) << spec.name << " " << i << " update " << t;
        EXPECT_NEAR(groups[0][at], own.mean[k], 1e-6) << spec.name;
        EXPECT_NEAR(groups[1][at], own.first[k], 2e-6) << spec.name;
        EXPECT_NEAR(groups[2][at], own.second[k], 1e-6) << spec.name;
      }
    }
  }
}

TEST(MuonGrokfastTest, EveryTensorFollowsTheReferenceInDouble) { ExpectReference(TestConfig()); }

TEST(MuonGrokfastTest, EveryOptionFollowsTheReferenceInDouble) {
  const auto with = [](const std::function<void(OptimizerConfig&)>& change) {
    OptimizerConfig config = TestConfig();
    change(config);
    ExpectReference(config);
  };
  with([](OptimizerConfig& c) { c.nesterov = false; });
  with([](OptimizerConfig& c) { c.grokfast_start = GrokfastStart::kZero; });
  with([](OptimizerConfig& c) { c.grokfast_amplifies = GrokfastBand::kFast; });
  with([](OptimizerConfig& c) { c.weight_decay_on = DecayedTensors::kMatrices; });
  with([](OptimizerConfig& c) { c.weight_decay_on = DecayedTensors::kValues; });
}

TEST(MuonGrokfastTest, AZeroGradientMovesNothing) {
  OptimizerConfig config = TestConfig();
  config.weight_decay = 0;
  for (const int64_t ns_steps : {0, 5}) {
    config.ns_steps = ns_steps;
    Muon muon(config);
    const std::vector<float> before = muon.weights;
    EXPECT_TRUE(muon.Step(1, std::vector<float>(before.size()), kMuonRate));
    EXPECT_EQ(muon.weights, before);
  }
}

TEST(MuonGrokfastTest, WithZeroIterationsAnUpdateIsExactlyOrthogonal) {
  OptimizerConfig config = TestConfig();
  config.weight_decay = 0;
  config.ns_steps = 0;
  config.muon_scale = MuonScale::kRms;
  Muon muon(config);
  const std::vector<float> before = muon.weights;
  ASSERT_TRUE(muon.Step(1, Random(muon.layout, 3), kMuonRate));
  const ParameterSpec& wide = muon.layout.specs[0];  // 3 x 5: scaled by 0.2 sqrt(5)
  const double size = kMuonRate * 0.2 * std::sqrt(5.0);
  for (int64_t a = 0; a < 3; ++a) {
    for (int64_t b = 0; b < 3; ++b) {
      double dot = 0;
      for (int64_t j = 0; j < 5; ++j) {
        const auto moved = [&](int64_t row) {
          const size_t at = static_cast<size_t>(wide.offset + row * 5 + j);
          return static_cast<double>(muon.weights[at] - before[at]) / size;
        };
        dot += moved(a) * moved(b);
      }
      EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-4);
    }
  }
}

TEST(MuonGrokfastTest, WithoutFilterAndMuonItIsAdamWBitByBit) {
  OptimizerConfig config = TestConfig();
  config.muon = false;
  config.grokfast_lambda = 0;
  config.fallback_learning_rate = config.learning_rate;
  Muon muon(config);
  config.name = OptimizerName::kAdamW;
  Muon adamw(config);
  for (int64_t t = 1; t <= 3; ++t) {
    const std::vector<float> gradient = Random(muon.layout, 20 + static_cast<uint64_t>(t));
    EXPECT_TRUE(muon.Step(t, gradient, kMuonRate));
    EXPECT_TRUE(adamw.Step(t, gradient, kMuonRate));
    EXPECT_EQ(muon.weights, adamw.weights);
  }
}

// Powers of two, so that the products that make a rate are exact in any order.
TEST(LearningRateFactorsTest, MultiplyTheRateOfTheirTensorsInBothOptimizers) {
  for (const OptimizerName name : {OptimizerName::kMuonGrokfast, OptimizerName::kAdamW}) {
    OptimizerConfig config = TestConfig();
    config.name = name;
    const auto after_two_steps = [&](const std::string& factors, double rate) {
      config.learning_rate_factors = factors;
      Muon muon(config);
      for (int64_t t = 1; t <= 2; ++t) {
        EXPECT_TRUE(muon.Step(t, Random(muon.layout, 30 + static_cast<uint64_t>(t)), rate));
      }
      return muon.weights;
    };
    const std::vector<float> own = after_two_steps(R"({"wide": 0.5, "gai*": 4, "emb*": 0})", kMuonRate);
    const std::vector<float> slow = after_two_steps("", 0.5 * kMuonRate), fast = after_two_steps("", 4 * kMuonRate);
    const std::vector<float> plain = after_two_steps("", kMuonRate), before = Random(TestLayout(), 1);
    for (const ParameterSpec& spec : TestLayout().specs) {
      const std::vector<float>& expected = spec.name == "wide"        ? slow
                                           : spec.name == "gain"      ? fast
                                           : spec.name == "embedding" ? before
                                                                      : plain;
      for (size_t i = static_cast<size_t>(spec.offset); i < static_cast<size_t>(spec.offset + spec.size); ++i) {
        EXPECT_EQ(own[i], expected[i]) << " " << spec.name;
        EXPECT_NE(slow[i], plain[i]) << " " << spec.name;
      }
    }
  }
}

TEST(MuonGrokfastTest, AStateThatIsRestoredContinuesWithTheSameBits) {
  Muon muon(TestConfig()), other(TestConfig());
  const FlatLayout& layout = muon.layout;
  ASSERT_TRUE(muon.Step(1, Random(layout, 2), kMuonRate));
  for (size_t group = 0; group < muon.optimizer->groups().size(); ++group) {
    other.optimizer->SetGroup(group, muon.Group(group));
    EXPECT_EQ(other.Group(group), muon.Group(group));
  }
  other.weights = muon.weights;
  ASSERT_TRUE(muon.Step(2, Random(layout, 3), kMuonRate));
  ASSERT_TRUE(other.Step(2, Random(layout, 3), kMuonRate));
  EXPECT_EQ(other.weights, muon.weights);
}

TEST(MuonGrokfastTest, ACorruptedNumberIsNamed) {
  const std::vector<float> gradient = Random(TestLayout(), 2);
  for (const int spec : {0, 4}) {
    Muon muon(TestConfig());
    std::vector<float> bad = gradient;
    const int64_t place = muon.layout.specs[spec].offset + 1;
    bad[place] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(muon.Step(1, bad, kMuonRate));
    const auto damage = muon.optimizer->FindCorruption(muon.weights);
    ASSERT_TRUE(damage);
    EXPECT_EQ(damage->spec, spec);
    EXPECT_EQ(damage->place, place);
    EXPECT_EQ(damage->of, "running mean of the gradients of ");
  }
  Muon muon(TestConfig());
  ASSERT_TRUE(muon.Step(1, gradient, kMuonRate));
  EXPECT_FALSE(muon.optimizer->FindCorruption(muon.weights));
  EXPECT_FALSE(muon.Step(2, gradient, 1e38));
  const auto damage = muon.optimizer->FindCorruption(muon.weights);
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->of, "");
}

}  // namespace
}  // namespace reprise::rl
