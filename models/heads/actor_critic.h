#ifndef MODELS_HEADS_ACTOR_CRITIC_H_
#define MODELS_HEADS_ACTOR_CRITIC_H_

// The network of a policy over features: logits of actions, and values of states.
//
//   features -> trunk -> LSTM -> hidden layers -> logits       NAME "trunk", "lstm", "policy"
//                             -> hidden layers -> value        NAME "value_model"
//
// Trunk and LSTM may be missing; without both, actor and critic are two networks that share nothing. A row's outputs
// depend on its sequence alone: without an LSTM on the row. The gradients of shared layers are those of the actor's
// inputs plus those of the critic's. Parameters' gradients are chains over a shard's rows as in mlp.h.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "kernels/contract/operands.h"
#include "models/heads/initial_weights.h"
#include "models/heads/lstm.h"
#include "models/heads/mlp.h"

namespace reprise::models {

struct ActorCriticShape {
  int64_t features = 1, actions = 2;
  std::vector<int64_t> trunk = {};   // the widths of the shared hidden layers; empty: none
  int64_t lstm = 0;                  // its width; 0: none
  int64_t lstm_chunk = 25;           // rows through which its gradient flows back
  std::vector<int64_t> hidden = {};  // the widths of the hidden layers of actor and critic, each its own
  Activation activation = Activation::kRelu;
  bool layer_norm = false;
  bool has_values = false;  // whether there is a critic
};

// Results of Forward that Backward reads, and scratch memory of one thread.
struct ActorCriticBuffers {
  MlpBuffers trunk, actor, critic;
  LstmBuffers lstm;
  Tensor trunk_output, state;  // what the LSTM reads, and what actor and critic do
  Tensor dstate, dcritic_state, dtrunk_output;

  int64_t bytes() const;
};

// Consecutive sequences of rows, such as the decisions of episodes.
struct SequenceRows {
  kernels::ConstRows x;                // features
  absl::Span<const int64_t> length_S;  // read where there is an LSTM
};

class ActorCritic {
 public:
  // Appends the parameters to `layout`; those of the critic are the last.
  ActorCritic(const ActorCriticShape& shape, FlatLayout* layout);

  bool has_values() const { return critic_.has_value(); }

  // The functions below take arrays of the whole layout.

  // Sets the initial parameters: weights of hidden layers with the activation's gain (sqrt 2 for ReLU, 5/3 for tanh),
  // of the actor's outputs with 0.01, so that the first policy is nearly uniform, of the critic's with 1. A pure
  // function of the seed and the layout.
  void Initialize(uint64_t seed, InitialWeights kind, absl::Span<float> parameters) const;

  // Copies and packs the parameters; must be called before the functions below, and after every change.
  void Refresh(absl::Span<const float> parameters);

  // Computes the logits [rows, actions] and the values [rows, 1]; not those whose data is null. May run at the same
  // time on several threads, each with buffers of its own; so may Backward.
  void Forward(const SequenceRows& rows, const kernels::Rows& logits, const kernels::Rows& values,
               ActorCriticBuffers* buffers) const;

  // Continues the chains of the parameters' gradients over these rows, after Forward of the same rows and outputs with
  // the same buffers. dlogits and dvalues: the gradients of the outputs; without those of values (null) the critic's
  // parameters are left as they are.
  void Backward(const SequenceRows& rows, const kernels::ConstRows& dlogits, const kernels::ConstRows& dvalues,
                const kernels::GradientChains& gradient, ActorCriticBuffers* buffers) const;

  // Computes the logits [1, actions] of the next row [1, features] of a sequence, with the bits of Forward.
  void Next(const kernels::ConstRows& x, LstmState* state, const kernels::Rows& logits) const;

 private:
  const ActorCriticShape shape_;
  std::optional<Mlp> trunk_;
  std::optional<Lstm> lstm_;
  Mlp actor_;
  std::optional<Mlp> critic_;
};

}  // namespace reprise::models

#endif  // MODELS_HEADS_ACTOR_CRITIC_H_
