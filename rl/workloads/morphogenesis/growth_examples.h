#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_EXAMPLES_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_EXAMPLES_H_

// The examples that hosts are trained and validated on, which all episodes of a run share, as batches.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"
#include "data/images/image_set.h"
#include "data/stories/story_set.h"
#include "models/morphogenesis/host_session.h"
#include "rl/config/config.h"
#include "rl/workload/external_file.h"

namespace reprise::rl {

// Batches, and the memory that they view.
struct GrowthBatches {
  GrowthBatches() = default;
  GrowthBatches(GrowthBatches&&) = default;
  GrowthBatches& operator=(GrowthBatches&&) = default;

  std::vector<float> images_NHWC;
  std::vector<int32_t> tokens_NT, targets;
  std::vector<models::HostBatch> batches;
};

// Returns the names under which a run stores the files of data_path.
std::vector<std::string> GrowthFileNames(const MorphogenesisConfig& config);

class GrowthExamples {
 public:
  // Reads data_path, and appends the digests of its files to `files_read`; without one, draws examples with the run's
  // seed. Errors: those of ReadCifar10 and SplitText; InvalidArgument where data_path has fewer images than are wanted.
  static absl::StatusOr<GrowthExamples> Load(const MorphogenesisConfig& config, uint64_t seed, FileSystem& files,
                                             std::vector<ExternalFile>* files_read);

  // Sets `batches` to the training examples of an epoch of a host, which is counted from 1: each once, in an order and
  // with augmentations that follow from the host's seed. Thread-safe.
  void TrainingEpoch(uint64_t host_seed, int64_t epoch, GrowthBatches* batches) const;

  const GrowthBatches& validation() const { return validation_; }
  int64_t batches_per_epoch() const { return (train_size() + batch_size_ - 1) / batch_size_; }

 private:
  GrowthExamples() = default;
  int64_t train_size() const { return static_cast<int64_t>(has_images_ ? images_.size() : stories_.size()); }
  void SetValidation(const data::ImageSet& images, const data::StorySet& stories);

  bool has_images_ = true, augments_ = false;
  int64_t batch_size_ = 1;
  data::ImageSet images_;
  data::StorySet stories_;
  GrowthBatches validation_;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_EXAMPLES_H_
