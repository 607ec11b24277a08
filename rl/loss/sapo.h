#ifndef RL_LOSS_SAPO_H_
#define RL_LOSS_SAPO_H_

// SAPO (soft adaptive policy optimization; Qwen, 2025), as in TRL: a smooth gate in place of the clip,
//   -(4 / tau) sigmoid(tau (r - 1)) A,   tau: sapo_temperature_pos where A > 0, else sapo_temperature_neg.

#include "rl/loss/options.h"
#include "rl/loss/ratio.h"
#include "rl/loss/term.h"

namespace reprise::rl {

Term SapoTerm(const Ratio& ratio, double advantage, const LossOptions& options);

}  // namespace reprise::rl

#endif  // RL_LOSS_SAPO_H_
