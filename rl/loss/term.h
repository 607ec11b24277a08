#ifndef RL_LOSS_TERM_H_
#define RL_LOSS_TERM_H_

namespace reprise::rl {

// A token's summand of a loss, as a function of an importance ratio and of the token's log-prob, with its two partial
// derivatives: how the ratio depends on log-probs is another file's business.
struct Term {
  double value = 0.0;
  double d_log_ratio = 0.0;  // with respect to the logarithm of the ratio, before clamping
  double d_logprob = 0.0;    // with respect to the token's log-prob where it stands outside the ratio
};

}  // namespace reprise::rl

#endif  // RL_LOSS_TERM_H_
