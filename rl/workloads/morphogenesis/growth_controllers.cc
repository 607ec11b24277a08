#include "rl/workloads/morphogenesis/growth_controllers.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/sampling/sampling.h"
#include "models/heads/lstm.h"
#include "rl/workloads/morphogenesis/growth_policies.h"

namespace reprise::rl {
namespace {

// Prompt, turn: epoch; the choices of a controller that chooses at random.
constexpr Purpose kMorphogenesisEpisode{24};

std::vector<float> LogitsOf(const CategoricalPolicy& policy, const GrowthState& state, models::LstmState* memory) {
  std::vector<float> logit_A(state.allowed_A.size());
  policy.NextLogits(state.feature_F, state.allowed_A, memory, absl::MakeSpan(logit_A));
  return logit_A;
}

}  // namespace

// The memory of an episode is shared, because std::function may be copied.

ChooseGrowth SampledChoices(const CategoricalPolicy& policy, float temperature, const GrowthPlace& place) {
  struct Memory {
    models::LstmState of_policy;
    kernels::SamplingWorkspace workspace;
  };
  return [&policy, temperature, place, memory = std::make_shared<Memory>()](const GrowthState& state,
                                                                            const GrowthReport&) {
    std::vector<float> logit_A = LogitsOf(policy, state, &memory->of_policy);
    const double uniform = DrawUniform(place.seed, place.purpose,
                                       {.step = place.step,
                                        .prompt = place.prompt,
                                        .sample = place.sample,
                                        .turn = static_cast<uint64_t>(state.signals.epoch)});
    const kernels::SampledToken drawn = kernels::SampleToken(static_cast<int64_t>(logit_A.size()), logit_A.data(),
                                                             {.temperature = temperature}, uniform, &memory->workspace);
    return GrowthChoice{drawn.token, drawn.logprob};
  };
}

ChooseGrowth GreedyChoices(const CategoricalPolicy& policy) {
  return [&policy, memory = std::make_shared<models::LstmState>()](const GrowthState& state, const GrowthReport&) {
    const std::vector<float> logit_A = LogitsOf(policy, state, memory.get());
    return GrowthChoice{.action = std::max_element(logit_A.begin(), logit_A.end()) - logit_A.begin()};
  };
}

ChooseGrowth HeuristicChoices(const GrowthActions& actions) {
  return [&actions, controller = std::make_shared<HeuristicController>(actions)](const GrowthState& state,
                                                                                 const GrowthReport& report) {
    const int64_t action = actions.ActionNumber(controller->Decide(state.signals, report).action);
    // The slot's embargo may be longer than the controller's own, and the episode may have had all its seeds.
    return GrowthChoice{.action = state.allowed_A[action] != 0 ? action : 0};
  };
}

ChooseGrowth RandomChoices(uint64_t seed, uint64_t prompt) {
  return [seed, prompt](const GrowthState& state, const GrowthReport&) {
    const double uniform = DrawUniform(seed, kMorphogenesisEpisode,
                                       {.prompt = prompt, .turn = static_cast<uint64_t>(state.signals.epoch)});
    return GrowthChoice{.action = RandomAction(state.allowed_A, uniform)};
  };
}

}  // namespace reprise::rl
