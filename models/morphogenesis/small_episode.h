#ifndef MODELS_MORPHOGENESIS_SMALL_EPISODE_H_
#define MODELS_MORPHOGENESIS_SMALL_EPISODE_H_

// A whole episode under a fixed controller, for tests.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/morphogenesis/host_session.h"

namespace reprise::models::testing {

struct SmallEpisode {
  HostTask task;
  std::vector<std::string> blueprints;  // germinated in turn, whenever the slot is free from epoch `first_seed` on
  int first_seed = 1, epochs = 25;
  int training_batches = 4;  // of 16 examples
  GateThresholds thresholds = {};
  int cull_at = 0;  // the epoch after which a live seed is culled; 0: never
  EpisodeCoordinates coordinates = {.seed = 11, .step = 3, .prompt = 5, .sample = 1};
  // Called before each epoch; may put another session in place of the one that plays.
  std::function<void(int epoch, std::unique_ptr<HostSession>* session)> before_epoch = {};
};

struct PlayedEpisode {
  std::unique_ptr<HostSession> session;
  std::vector<SlotEvent> events;
  std::vector<double> accuracies, contributions, gradient_ratios;
  std::string digest;  // SHA-256 of all results and of the final state
};

// Seeds fossilise as soon as gate G5 lets them. Any error aborts.
PlayedEpisode Play(const SmallEpisode& episode);

// SHA-256 of a session's state.
std::string DigestOfState(const HostSession& session);

}  // namespace reprise::models::testing

#endif  // MODELS_MORPHOGENESIS_SMALL_EPISODE_H_
