#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_STAGE_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_STAGE_H_

// The life of a seed: a module that is put into a host network, trained beside it, blended in, and in the end kept
// (fossilised) or removed (culled).
//
//   DORMANT -> GERMINATED -> TRAINING -> BLENDING -> SHADOWING -> PROBATIONARY -> FOSSILIZED
//                     \__________\___________\___________\____________\--> CULLED -> EMBARGOED -> RESETTING -> DORMANT
//
// SHADOWING is not a run in the shadow of the host: alpha stays 1; it is a time of waiting.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace reprise::models {

// Stored in records: do not change the values.
enum class Stage : uint8_t {
  kUnknown = 0,
  kDormant = 1,
  kGerminated = 2,
  kTraining = 3,
  kBlending = 4,
  kShadowing = 5,
  kProbationary = 6,
  kFossilized = 7,
  kCulled = 8,
  kEmbargoed = 9,
  kResetting = 10,
};
inline constexpr int kNumStages = 11;

absl::string_view NameOf(Stage stage);  // "UNKNOWN", "DORMANT", ...

// The stages that may follow, in the order of preference; the first that is no failure is where AdvanceStage goes by
// default. None after FOSSILIZED.
std::vector<Stage> Successors(Stage stage);
bool IsValidTransition(Stage from, Stage to);

bool IsActive(Stage stage);    // TRAINING to FOSSILIZED: the seed is part of the forward pass
bool IsTerminal(Stage stage);  // FOSSILIZED
bool IsFailure(Stage stage);   // CULLED, EMBARGOED, RESETTING

// Epochs.
inline constexpr int kMinCullAge = 10;
inline constexpr int kFullEvaluationAge = 10;
inline constexpr int kMinProbationEpochs = 5;
inline constexpr int kMinGerminateEpoch = 5;
inline constexpr int kMinPlateauToGerminate = 3;

// Seeds that germinate in an episode: those after them would have no numbers for their tensors.
inline constexpr int kMostSeeds = 126;

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_STAGE_H_
