#ifndef RL_TESTING_LOSS_CASES_H_
#define RL_TESTING_LOSS_CASES_H_

// Converts the configurations of golden loss cases (with TRL's names) to options of PolicyLoss.

#include <string>

#include "nlohmann/json.hpp"
#include "rl/loss/aggregation.h"
#include "rl/loss/options.h"

namespace reprise::rl::testing {

LossOptions LossOptionsOfCase(const nlohmann::json& config);

// Returns the normalizer of a micro-batch of num_sequences sequences with num_tokens tokens in total. TRL divides a
// micro-batch's loss by the number of accumulation steps, which is the number of micro-batches in a minibatch.
LossNormalizer NormalizerOfCase(const nlohmann::json& config, double num_sequences, double num_tokens);

// Returns a short description of the case, for tables: "dapo token kl".
std::string DescribeCase(const nlohmann::json& config);

}  // namespace reprise::rl::testing

#endif  // RL_TESTING_LOSS_CASES_H_
