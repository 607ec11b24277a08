#ifndef RL_LEARNER_REFERENCE_H_
#define RL_LEARNER_REFERENCE_H_

// The reference model: the policy's divergence from it is penalized.

#include <memory>

#include "core/parallel/thread_pool.h"
#include "models/decoder/model.h"

namespace reprise::rl {

// Returns a copy of the language model, without a value function, for forward passes only. The copy owns its
// parameters; it shares the packed weights, which the kernels read, with the model until the model is refreshed, and
// keeps them unchanged then. The model must have been refreshed since its last change.
std::unique_ptr<models::Model> FrozenCopy(const models::Model& model);

// Moves the reference towards the policy: alpha policy + (1 - alpha) reference, a copy where alpha is 1 (TRL's
// sync_ref_model), which then shares packed weights as in FrozenCopy. The result is the same on every rank.
void SyncReference(const models::Model& policy, double alpha, ThreadPool& pool, models::Model* reference);

}  // namespace reprise::rl

#endif  // RL_LEARNER_REFERENCE_H_
