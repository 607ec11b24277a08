#include "rl/workloads/morphogenesis/growth_examples.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/io/read_file.h"
#include "core/random/draw.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/images/cifar10.h"
#include "data/jsonl/shuffled_index.h"
#include "rl/workloads/morphogenesis/section/morphogenesis_section.h"

namespace reprise::rl {
namespace {

// With the seed of a host, step: the epoch: the order of its training examples (as data/jsonl's order of a file's
// tasks) and, prompt: 1, token: the image, how an image is shifted and mirrored.
constexpr Purpose kHostAugmentation{21};

constexpr int64_t kMostTextBytes = int64_t{1} << 30;
constexpr uint64_t kAugmentation = 1;  // the coordinate `prompt` of its draws; the order's is 0

void AppendImage(const data::ImageSet& images, size_t n, const data::Augmentation& augmentation,
                 GrowthBatches* batches) {
  const size_t at = batches->images_NHWC.size();
  batches->images_NHWC.resize(at + images.image_bytes());
  data::NormalizeImage(images, n, augmentation, absl::MakeSpan(batches->images_NHWC).subspan(at));
  batches->targets.push_back(images.label_N[n]);
}

void AppendStory(const data::StorySet& stories, size_t n, GrowthBatches* batches) {
  const absl::Span<const uint8_t> sequence = stories.sequence(n);
  batches->tokens_NT.insert(batches->tokens_NT.end(), sequence.begin(), sequence.end() - 1);
  batches->targets.insert(batches->targets.end(), sequence.begin() + 1, sequence.end());
}

// Divides `count` appended examples into batches; the last one may be smaller.
void Divide(int64_t count, int64_t batch_size, GrowthBatches* batches) {
  const auto part = [&](const auto& values, int64_t first, int64_t size) {
    const size_t each = values.size() / static_cast<size_t>(std::max<int64_t>(1, count));
    return absl::MakeConstSpan(values).subspan(static_cast<size_t>(first) * each, static_cast<size_t>(size) * each);
  };
  for (int64_t first = 0; first < count; first += batch_size) {
    const int64_t size = std::min(batch_size, count - first);
    batches->batches.push_back({.size = size,
                                .images_BHWC = part(batches->images_NHWC, first, size),
                                .tokens_BT = part(batches->tokens_NT, first, size),
                                .targets = part(batches->targets, first, size)});
  }
}

absl::StatusOr<data::ImageSplits> LoadImages(const MorphogenesisConfig& config, uint64_t seed, FileSystem& files,
                                             std::vector<ExternalFile>* files_read) {
  const int64_t train = config.train_examples, validation = config.validation_examples;
  if (config.data_path.empty()) {
    return data::ImageSplits{data::GeneratedImages(seed, config.image_size, 0, train),
                             data::GeneratedImages(seed, config.image_size, train, validation)};
  }
  ASSIGN_OR_RETURN(data::Cifar10 cifar,
                   data::ReadCifar10(files, config.data_path, {.train = train, .validation = validation}));
  const int64_t found = static_cast<int64_t>(cifar.splits.validation.size());
  if (found < validation) {
    return absl::InvalidArgumentError(absl::StrCat("morphogenesis.validation_examples is ", validation, ", but ",
                                                   config.data_path, " has ", found, " images for it: ask for fewer"));
  }
  const std::vector<std::string> names = GrowthFileNames(config);
  for (size_t i = 0; i < names.size(); ++i) files_read->push_back({names[i], cifar.sha256_of_file[i]});
  return std::move(cifar.splits);
}

absl::StatusOr<data::StorySplits> LoadStories(const MorphogenesisConfig& config, uint64_t seed, FileSystem& files,
                                              std::vector<ExternalFile>* files_read) {
  const data::StoryCounts counts = {config.block_size, config.train_examples, config.validation_examples};
  if (config.data_path.empty()) return data::GeneratedStories(seed, counts);
  const absl::StatusOr<std::string> read = ReadFile(files, config.data_path, kMostTextBytes);
  if (absl::IsNotFound(read.status()) || absl::IsInvalidArgument(read.status())) {
    return absl::Status(
        read.status().code(),
        absl::StrCat(read.status().message(),
                     ": with the task tinystories, morphogenesis.data_path must name a text file, or be "
                     "empty for generated stories"));
  }
  if (!read.ok()) return WithContext(read.status(), "the stories of morphogenesis.data_path");
  const std::string& text = *read;
  ASSIGN_OR_RETURN(data::StorySplits splits, data::SplitText(text, config.data_path, counts));
  files_read->push_back({GrowthFileNames(config)[0], Sha256(text)});
  return splits;
}

}  // namespace

std::vector<std::string> GrowthFileNames(const MorphogenesisConfig& config) {
  if (config.task == "tinystories") return {"data/text"};
  std::vector<std::string> names = data::Cifar10FileNames();
  for (std::string& name : names) name = absl::StrCat("data/", name);
  return names;
}

void GrowthExamples::SetValidation(const data::ImageSet& images, const data::StorySet& stories) {
  for (size_t n = 0; n < images.size(); ++n) AppendImage(images, n, data::kNoAugmentation, &validation_);
  for (size_t n = 0; n < stories.size(); ++n) AppendStory(stories, n, &validation_);
  Divide(static_cast<int64_t>(images.size() + stories.size()), batch_size_, &validation_);
}

absl::StatusOr<GrowthExamples> GrowthExamples::Load(const MorphogenesisConfig& config, uint64_t seed, FileSystem& files,
                                                    std::vector<ExternalFile>* files_read) {
  ASSIGN_OR_RETURN(const models::HostTask task, MakeHostTask(config));
  GrowthExamples examples;
  examples.has_images_ = task.shape.topology == models::Topology::kCnn;
  examples.augments_ = config.augments;
  examples.batch_size_ = task.batch_size;
  if (examples.has_images_) {
    ASSIGN_OR_RETURN(data::ImageSplits splits, LoadImages(config, seed, files, files_read));
    examples.images_ = std::move(splits.train);
    examples.SetValidation(splits.validation, {});
  } else {
    ASSIGN_OR_RETURN(data::StorySplits splits, LoadStories(config, seed, files, files_read));
    examples.stories_ = std::move(splits.train);
    examples.SetValidation({}, splits.validation);
  }
  return examples;
}

void GrowthExamples::TrainingEpoch(uint64_t host_seed, int64_t epoch, GrowthBatches* batches) const {
  batches->images_NHWC.clear(), batches->tokens_NT.clear(), batches->targets.clear(), batches->batches.clear();
  const int64_t count = train_size();
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t place = static_cast<uint64_t>(epoch * count + i);
    const int64_t n = data::ShuffledIndex(count, host_seed, kHostAugmentation, place);
    if (!has_images_) {
      AppendStory(stories_, static_cast<size_t>(n), batches);
      continue;
    }
    const DrawAt at = {
        .step = static_cast<uint64_t>(epoch), .prompt = kAugmentation, .token = static_cast<uint64_t>(n)};
    AppendImage(images_, static_cast<size_t>(n),
                augments_ ? data::AugmentationAt(host_seed, kHostAugmentation, at) : data::kNoAugmentation, batches);
  }
  Divide(count, batch_size_, batches);
}

}  // namespace reprise::rl
