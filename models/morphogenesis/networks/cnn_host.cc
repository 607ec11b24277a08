#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/morphogenesis/networks/autograd_node.h"
#include "models/morphogenesis/networks/host.h"
#include "models/morphogenesis/networks/image_ops.h"
#include "models/morphogenesis/networks/row_ops.h"

namespace reprise::models {
namespace {

struct Block {
  at::Tensor weight, gain, bias;
  RunningStatistics running;
};

class CnnHost : public Host {
 public:
  CnnHost(const HostShape& shape, const EpisodeCoordinates& episode) : Host(shape) {
    WeightMaker make(episode, 0, &parameters_);
    const CnnShape& cnn = shape.cnn;
    int64_t inputs = cnn.image_channels;
    for (int64_t i = 0; i < cnn.num_blocks; ++i) {
      const int64_t outputs = cnn.base_channels << i;
      blocks_.push_back(MakeBlock(&make, absl::StrCat("blocks.", i, "."), inputs, outputs));
      inputs = outputs;
    }
    classifier_ = make.Uniform("classifier.weight", {cnn.num_classes, inputs}, inputs);
    classifier_bias_ = make.Uniform("classifier.bias", {cnn.num_classes}, inputs);
  }

  absl::Status CheckBatch(const HostBatch& batch) const override {
    const CnnShape& cnn = shape_.cnn;
    const int64_t of_image = cnn.image_size * cnn.image_size * cnn.image_channels;
    const int64_t pixels = static_cast<int64_t>(batch.images_BHWC.size());
    if (batch.size < 1 || pixels != batch.size * of_image) {
      return absl::InvalidArgumentError(absl::StrCat("a host's batch of ", batch.size, " images has ", pixels,
                                                     " numbers, but each image must have ", of_image));
    }
    if (static_cast<int64_t>(batch.targets.size()) != batch.size) {
      return absl::InvalidArgumentError(
          absl::StrCat("a host's batch of ", batch.size, " images has ", batch.targets.size(), " targets"));
    }
    return CheckRange("target", batch.targets, cnn.num_classes);
  }

  BatchLoss Loss(const HostBatch& batch, const HostPass& pass, const AtInjection& at_injection) const override {
    const CnnShape& cnn = shape_.cnn;
    at::Tensor h = NewFloats({batch.size, cnn.image_size, cnn.image_size, cnn.image_channels});
    std::copy(batch.images_BHWC.begin(), batch.images_BHWC.end(), MutableData(h));
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      h = MaxPool(Relu(BatchNorm(Convolve(h, block.weight), block.gain, block.bias, block.running, pass.training)));
      if (i > 0) h = at_injection(i - 1, h);
    }
    return CrossEntropy(Linear(MeanOfImages(h), classifier_, classifier_bias_), batch.targets);
  }

 private:
  Block MakeBlock(WeightMaker* make, const std::string& name, int64_t inputs, int64_t outputs) {
    Block block;
    block.weight = make->Uniform(name + "conv.weight", {outputs, 3, 3, inputs}, 9 * inputs);
    block.gain = make->Constant(name + "norm.weight", {outputs}, 1);
    block.bias = make->Constant(name + "norm.bias", {outputs}, 0);
    block.running = {MakeBuffer(name + "norm.running_mean", outputs, 0),
                     MakeBuffer(name + "norm.running_var", outputs, 1)};
    return block;
  }

  at::Tensor MakeBuffer(std::string name, int64_t size, float value) {
    at::Tensor buffer = NewFloats({size});
    std::fill_n(MutableData(buffer), size, value);
    buffers_.push_back({std::move(name), buffer});
    return buffer;
  }

  std::vector<Block> blocks_;
  at::Tensor classifier_, classifier_bias_;
};

}  // namespace

std::unique_ptr<Host> BuildCnnHost(const HostShape& shape, const EpisodeCoordinates& episode) {
  return std::make_unique<CnnHost>(shape, episode);
}

}  // namespace reprise::models
