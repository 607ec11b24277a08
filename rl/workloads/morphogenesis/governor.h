#ifndef RL_WORKLOADS_MORPHOGENESIS_GOVERNOR_H_
#define RL_WORKLOADS_MORPHOGENESIS_GOVERNOR_H_

// Watches the loss of a growing network: when its training has failed, the network is set back to its last snapshot.
// The governor decides; who plays the episode takes snapshots and restores them.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace reprise::rl {

struct GovernorOptions {
  int64_t window = 20;                      // losses that are remembered
  double sigmas = 6;                        // an anomaly is greater than the mean by this many standard deviations,
  double multiplier = 3;                    // and than the mean times this,
  double absolute = 10;                     // and than this
  int64_t consecutive = 2;                  // anomalies after each other that are a panic
  int64_t snapshot_epochs = 5;              // between snapshots
  double random_guess = 2.302585092994046;  // loss of a model that knows nothing; ln 10

  bool operator==(const GovernorOptions&) const = default;
};

enum class PanicReason : uint8_t { kNotFinite = 1, kLobotomy = 2, kAnomalies = 3 };

// "the loss is not a number", "the loss is that of a random guess", "the loss was far above its mean".
absl::string_view Describe(PanicReason reason);

// Why a network is set back.
struct Panic {
  PanicReason reason = PanicReason::kNotFinite;
  double loss = 0;            // not finite for kNotFinite
  double threshold = 0;       // which the loss exceeded, for kAnomalies; else 0
  int64_t num_anomalies = 0;  // after each other, this loss included

  bool operator==(const Panic&) const = default;
};

// Of one episode. A call of Check comes before that of NeedsSnapshot, so that no snapshot is of a failed network (in
// esper-lite it may be).
class Governor {
 public:
  explicit Governor(const GovernorOptions& options) : options_(options) {}

  // Takes the loss of an epoch. A panic must be followed by a rollback: the count of anomalies is 0 again.
  std::optional<Panic> Check(double loss);

  // Returns whether a snapshot must be taken before the first epoch (0) or after this one, whose loss Check took. Never
  // after an anomaly that was no panic: that network may be the failed one which the next epoch's panic sets back.
  // structure_changed: seeds were fossilised since the last snapshot, which lacks them.
  bool NeedsSnapshot(int64_t epoch, bool structure_changed) const {
    return anomalies_ == 0 && (structure_changed || epoch % options_.snapshot_epochs == 0);
  }

  const std::deque<double>& history() const { return history_; }

  // The reward of the epoch in which a network is set back.
  static constexpr double kRollbackReward = -10;
  // Losses that must be known before a loss near a random guess counts as a lobotomy.
  static constexpr size_t kKnownLosses = 10;

 private:
  const GovernorOptions options_;
  std::deque<double> history_;  // without anomalies
  int64_t anomalies_ = 0;       // after each other, up to the last loss; 0 after a panic
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GOVERNOR_H_
