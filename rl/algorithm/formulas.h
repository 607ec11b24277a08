#ifndef RL_ALGORITHM_FORMULAS_H_
#define RL_ALGORITHM_FORMULAS_H_

// Formulas of an algorithm's options, each as a line of text for docs/algorithms.md. Pure.

#include <string>

#include "rl/algorithm/algorithm.h"

namespace reprise::rl {

// "A_i = (R_i - mean of its group) / (standard deviation of its group + 0.0001)".
std::string AdvantageFormula(const AlgorithmConfig& row);

// "r_t = exp(logp_t - old_t)"; empty without a ratio.
std::string RatioFormula(const LossOptions& loss);

// The term of a token: "l_t = -min(r_t A, clip(r_t, 0.8, 1.2) A)".
std::string TermFormula(const LossOptions& loss);

// How the terms are summed: "loss = sum of l_t / tokens of the step".
std::string LossFormula(const LossOptions& loss);

// The divergence from the reference, in the reward or the loss, with its weight.
std::string DivergenceFormula(const AlgorithmConfig& row);

// The loss of the value function; empty without one.
std::string ValueFormula(const AlgorithmConfig& row);

// Departures of the options from their sources, one sentence each.
std::vector<std::string> Departures(const AlgorithmConfig& row);

}  // namespace reprise::rl

#endif  // RL_ALGORITHM_FORMULAS_H_
