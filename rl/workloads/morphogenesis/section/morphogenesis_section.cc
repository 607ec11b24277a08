#include "rl/workloads/morphogenesis/section/morphogenesis_section.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/check.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "models/morphogenesis/life_cycle/blueprints.h"
#include "models/morphogenesis/life_cycle/topology.h"

namespace reprise::rl {
namespace {

bool GrowsOnImages(const MorphogenesisConfig& growth) { return growth.task == "cifar10"; }

constexpr absl::string_view kImages = "morphogenesis.task cifar10";
constexpr absl::string_view kStories = "morphogenesis.task tinystories";

using config::Between;

constexpr int64_t kMostExamples = 50000, kMostEpochs = 1000, kWidest = 4096;
constexpr int64_t kByteVocabulary = 256;
constexpr size_t kMostLayers = 16;
constexpr config::DoubleRange kRate = {.low = 1e-12, .high = 1e30, .or_exactly = 0};

constexpr absl::string_view kControllers[] = {"greedy", "", "heuristic", "random"};
constexpr absl::string_view kMeasures[] = {"added_params", "final_accuracy", "return"};

void VisitHost(config::FieldList& list, MorphogenesisConfig& growth) {
  list.Int("image_size", growth.image_size, Between(8, 32),
           "Rows and columns of generated images; those of CIFAR-10 have 32.")
      .ReadIf([&growth] { return GrowsOnImages(growth); }, kImages);
  list.Int("base_channels", growth.base_channels, Between(1, 512),
           "Channels of the first block of the convolutional host; each block has twice those before it.")
      .ReadIf([&growth] { return GrowsOnImages(growth); }, kImages);
  list.Int("blocks", growth.blocks, Between(2, 5),
           "Blocks of the convolutional host, each of which halves rows and columns.")
      .ReadIf([&growth] { return GrowsOnImages(growth); }, kImages);
  list.Int("block_size", growth.block_size, Between(2, 1024), "Tokens (bytes) of a sequence of tinystories.")
      .ReadIf([&growth] { return !GrowsOnImages(growth); }, kStories);
  list.Int("width", growth.width, Between(4, kWidest), "Width of the transformer host, that of tinystories.")
      .ReadIf([&growth] { return !GrowsOnImages(growth); }, kStories);
  list.Int("heads", growth.heads, Between(1, 256), "Attention heads of the transformer host.")
      .ReadIf([&growth] { return !GrowsOnImages(growth); }, kStories);
  list.Int("layers", growth.layers, Between(1, 48), "Layers of the transformer host.")
      .ReadIf([&growth] { return !GrowsOnImages(growth); }, kStories);
  list.Double("dropout", growth.dropout, {.low = 0, .high = 1, .without_high = true},
              "Dropout of the transformer host.")
      .ReadIf([&growth] { return !GrowsOnImages(growth); }, kStories);
  list.Double("host_learning_rate", growth.host_learning_rate, kRate, "Learning rate of the host (SGD).");
  list.Double("seed_learning_rate", growth.seed_learning_rate, kRate, "Learning rate of the seed (SGD).");
  list.Double("momentum", growth.momentum, {.low = 0, .high = 1, .without_high = true}, "Momentum of host and seed.");
  list.Double("weight_decay", growth.weight_decay, {.low = 0, .high = 1}, "Weight decay of the host.");
  list.Bool("detaches_blending", growth.detaches_blending,
            "Whether the host's activations that a blending seed is mixed with pass on no gradient, as in esper-lite's "
            "convolutional hosts; then layers before the slot learn only through the seed.");
  list.Int(
      "embargo_epochs", growth.embargo_epochs, Between(0, kMostEpochs),
      "Epochs from a cull to the first after which a seed can be germinated again: the decisions between them, one "
      "fewer, cannot; 0 and 1 exclude none.");
}

void VisitController(config::FieldList& list, MorphogenesisConfig& growth) {
  list.Name("reward", growth.reward, {"shaped", "contribution", "loss"},
            "What a decision earns (docs/morphogenesis.md): shaped, by changes of accuracy; contribution, by what the "
            "seed contributes, and as shaped while that is not known; loss, by changes of the validation loss.");
  list.Bool("telemetry", growth.telemetry, "Whether the controller sees ten more features, about the seed.");
  list.String("trunk", growth.trunk, "Widths of the hidden layers that policy and value function share, as \"64 64\".");
  list.String("hidden", growth.hidden,
              "Widths of the hidden layers that policy and value function have apart; empty = none.");
  list.Int("lstm", growth.lstm, Between(0, kWidest),
           "Width of an LSTM behind the shared layers, which remembers the episode; 0 = none.");
  list.Bool("orthogonal", growth.orthogonal, "Whether the controller's initial weights are orthogonal.");
  list.Bool("normalizes_features", growth.normalizes_features,
            "Whether features are normalised by running statistics of those of earlier steps.");
  list.Bool(
      "normalizes_entropy", growth.normalizes_entropy,
      "Whether the entropy of a decision is divided by the logarithm of the number of its allowed actions: in its "
      "bonus, for use_adaptive_entropy, and in the metric normalized_entropy, which then replaces entropy.");
}

absl::StatusOr<std::vector<int64_t>> ParseWidths(absl::string_view key, absl::string_view text) {
  std::vector<int64_t> widths;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    int64_t width = 0;
    if (widths.size() == kMostLayers || !absl::SimpleAtoi(word, &width) || width < 1 || width > kWidest) {
      return absl::InvalidArgumentError(absl::StrCat("morphogenesis.", key, ": \"", Printable(text),
                                                     "\" is not a list of at most ", kMostLayers, " widths from 1 to ",
                                                     kWidest, ", as \"64 64\""));
    }
    widths.push_back(width);
  }
  return widths;
}

// A controller may choose any blueprint: each must fit.
absl::Status CheckBlueprints(const models::HostTask& task) {
  const int64_t channels = models::InjectionPoints(task.shape)[0].channels;
  for (const models::Blueprint& blueprint : models::Blueprints(task.shape.topology)) {
    const absl::Status fits = models::BlueprintParameters(task.shape.topology, blueprint, channels).status();
    if (!fits.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("morphogenesis.width is ", channels, ", but not every seed fits: ", fits.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRecurrentEpochs(const MorphogenesisConfig& growth, int64_t epochs) {
  if (growth.lstm == 0 || epochs <= kMostRecurrentEpochs) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("algorithm.num_iterations is ", epochs,
                                                 ", but with morphogenesis.lstm it is at most ", kMostRecurrentEpochs,
                                                 ": what a controller remembers changes with every update"));
}

}  // namespace

std::vector<std::string> MorphogenesisWarnings(const MorphogenesisConfig& growth, int64_t epochs) {
  if (growth.lstm == 0 || epochs <= kManyRecurrentEpochs) return {};
  return {absl::StrCat("algorithm.num_iterations is ", epochs, " with morphogenesis.lstm: more than ",
                       kManyRecurrentEpochs, " epochs of updates often make a controller that remembers unstable")};
}

void VisitMorphogenesis(config::FieldList& list, MorphogenesisConfig& growth, const config::Condition& scope) {
  list.Section(
          "morphogenesis", config::Kind::kSemantic,
          "A network that grows while it trains (run.workload morphogenesis): after each epoch of a host a controller "
          "decides whether a seed is germinated, becomes part of the host, or is removed.")
      .OnlyFor(scope);
  list.Name("task", growth.task, {"cifar10", "tinystories"},
            "cifar10: images and a convolutional host; tinystories: text and a transformer.");
  list.String("data_path", growth.data_path,
              "For cifar10, the folder of its binary version (data_batch_1.bin, ...); for tinystories, a text file; "
              "empty = generated examples.");
  list.Int("train_examples", growth.train_examples, Between(1, kMostExamples),
           "Images or sequences that a host is trained on.");
  list.Int("validation_examples", growth.validation_examples, Between(1, kMostExamples),
           "Images or sequences that it is validated on.");
  list.Int("batch_size", growth.batch_size, Between(0, kMostExamples),
           "Examples in a batch of a host; 0 = 128 images or 32 sequences.");
  list.Int("max_epochs", growth.max_epochs, Between(0, kMostEpochs),
           "Epochs, and with it decisions, of an episode; 0 = 25 of cifar10, 50 of tinystories.");
  list.Bool("augments", growth.augments, "Whether training images are cropped and mirrored at random.")
      .ReadIf([&growth] { return GrowsOnImages(growth); }, kImages);
  VisitHost(list, growth);
  VisitController(list, growth);
}

bool IsControllerShapeKey(absl::string_view section, absl::string_view key) {
  if (section != "morphogenesis") return false;
  for (const absl::string_view shape :
       {"telemetry", "trunk", "hidden", "lstm", "orthogonal", "normalizes_features", "normalizes_entropy"}) {
    if (key == shape) return true;
  }
  return false;
}

absl::StatusOr<models::HostTask> MakeHostTask(const MorphogenesisConfig& growth) {
  ASSIGN_OR_RETURN(models::HostTask task, models::FindHostTask(growth.task));
  task.shape.cnn.base_channels = growth.base_channels;
  task.shape.cnn.num_blocks = growth.blocks;
  task.shape.cnn.image_size = growth.image_size;
  task.shape.transformer = {.vocab_size = kByteVocabulary,
                            .width = growth.width,
                            .num_heads = growth.heads,
                            .num_layers = growth.layers,
                            .block_size = growth.block_size,
                            .dropout = growth.dropout};
  if (growth.batch_size > 0) task.batch_size = growth.batch_size;
  if (growth.max_epochs > 0) task.max_epochs = static_cast<int>(growth.max_epochs);
  return task;
}

int64_t CountEpochs(const MorphogenesisConfig& growth) {
  const absl::StatusOr<models::HostTask> task = MakeHostTask(growth);
  CHECK(task.ok());
  return task->max_epochs;
}

absl::StatusOr<ControllerWidths> ParseControllerWidths(const MorphogenesisConfig& growth) {
  ControllerWidths widths;
  ASSIGN_OR_RETURN(widths.trunk, ParseWidths("trunk", growth.trunk));
  ASSIGN_OR_RETURN(widths.hidden, ParseWidths("hidden", growth.hidden));
  return widths;
}

std::vector<std::string> GrowthScoreNames(int64_t samples) {
  std::vector<std::string> names;
  for (const absl::string_view controller : kControllers) {
    if (controller.empty() && samples == 0) continue;
    for (const absl::string_view measure : kMeasures) {
      names.push_back(absl::StrCat("eval_", controller, controller.empty() ? "" : "_", measure));
    }
  }
  return names;
}

absl::Status CheckMorphogenesis(const MorphogenesisConfig& growth, int64_t epochs, Baseline baseline) {
  ASSIGN_OR_RETURN(const models::HostTask task, MakeHostTask(growth));
  if (growth.task == "cifar10" && growth.image_size < int64_t{1} << growth.blocks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "morphogenesis.image_size is ", growth.image_size, ", but morphogenesis.blocks ", growth.blocks,
        " halves rows that many times: give images of ", int64_t{1} << growth.blocks, " rows, or fewer blocks"));
  }
  if (const absl::Status shape = models::ValidateHostShape(task.shape); !shape.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("[morphogenesis] describes no host: ", shape.message()));
  }
  if (!growth.data_path.empty() && growth.task == "cifar10" && growth.image_size != 32) {
    return absl::InvalidArgumentError(absl::StrCat("morphogenesis.image_size ", growth.image_size,
                                                   " is that of generated images, but the images of data_path have "
                                                   "32 rows: remove one of them"));
  }
  RETURN_IF_ERROR(CheckBlueprints(task));
  RETURN_IF_ERROR(ParseControllerWidths(growth).status());
  RETURN_IF_ERROR(CheckRecurrentEpochs(growth, epochs));
  if (baseline == Baseline::kGreedy || baseline == Baseline::kOptimal) {
    return absl::InvalidArgumentError(
        "run.workload morphogenesis has no baselines that need more episodes of a host than those of the step: set "
        "algorithm.baseline to value, group_mean, leave_one_out or none");
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
