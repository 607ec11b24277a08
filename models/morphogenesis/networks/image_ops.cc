#include "models/morphogenesis/networks/image_ops.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/tensor/room.h"
#include "kernels/images/depthwise.h"
#include "kernels/images/patches.h"
#include "kernels/images/pooling.h"
#include "kernels/products/products.h"
#include "kernels/rows/mean_rows.h"
#include "models/morphogenesis/networks/autograd_node.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::GradientChains;
using kernels::ImageRows;
using kernels::kTaps;
using kernels::Rows;

constexpr int64_t kBlockFloats = 1 << 16;  // of patches that are in memory at a time: affects speed, but no bit

ImageRows ShapeOf(const at::Tensor& x) { return {x.size(0), x.size(1), x.size(2), x.size(3)}; }

struct ConvolutionRooms {
  Tensor packed, patches, open;
};

ConvolutionRooms& RoomsOfThread() {
  thread_local ConvolutionRooms rooms;
  return rooms;
}

// Calls visit(images of the block, index of its first image).
template <typename Visit>
void ForBlocks(const ImageRows& shape, const Visit& visit) {
  const int64_t of_image = shape.pixels() * kTaps * shape.channels;
  const int64_t block = std::max<int64_t>(1, kBlockFloats / std::max<int64_t>(1, of_image));
  for (int64_t first = 0; first < shape.images; first += block) {
    ImageRows part = shape;
    part.images = std::min(block, shape.images - first);
    visit(part, first);
  }
}

ConstRows Patches(const ImageRows& part, const float* x) {
  const int64_t width = kTaps * part.channels;
  float* const patches = Room(RoomsOfThread().patches, part.rows() * width);
  kernels::GatherPatches(part, x, patches);
  return {patches, part.rows(), width};
}

void ForwardByBlocks(const ImageRows& shape, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& y) {
  const int64_t n = weight.size(0), k = kTaps * shape.channels;
  float* const packed = Room(RoomsOfThread().packed, kernels::PackedSize(n, k));
  kernels::PackForward(Data(weight), n, k, packed, 0, kernels::Panels(n));
  ForBlocks(shape, [&](const ImageRows& part, int64_t first) {
    const ConstRows patches = Patches(part, Data(x) + first * shape.pixels() * shape.channels);
    kernels::Product(patches, packed, Rows{MutableData(y) + first * shape.pixels() * n, part.rows(), n});
  });
}

void InputGradientByBlocks(const ImageRows& shape, const at::Tensor& dy, const at::Tensor& weight,
                           const at::Tensor& dx) {
  const int64_t n = weight.size(0), k = kTaps * shape.channels;
  float* const packed = Room(RoomsOfThread().packed, kernels::PackedSize(k, n));
  kernels::PackTransposed(Data(weight), n, k, packed, 0, kernels::Panels(k));
  ForBlocks(shape, [&](const ImageRows& part, int64_t first) {
    const Rows dpatches = {Room(RoomsOfThread().patches, part.rows() * k), part.rows(), k};
    kernels::Product(ConstRows{Data(dy) + first * shape.pixels() * n, part.rows(), n}, packed, dpatches);
    kernels::ScatterPatches(part, dpatches.data, MutableData(dx) + first * shape.pixels() * shape.channels);
  });
}

void WeightGradientByBlocks(const ImageRows& shape, const at::Tensor& dy, const at::Tensor& x, const at::Tensor& dw) {
  const int64_t n = dw.size(0);
  GradientChains chains = {.total = MutableData(dw), .open = Room(RoomsOfThread().open, dw.numel())};
  ForBlocks(shape, [&](const ImageRows& part, int64_t first) {
    const ConstRows patches = Patches(part, Data(x) + first * shape.pixels() * shape.channels);
    chains.last = first + part.images == shape.images;
    kernels::AccumulateWeightGradient(ConstRows{Data(dy) + first * shape.pixels() * n, part.rows(), n}, patches,
                                      chains);
    chains.first_row += part.rows();
  });
  if (shape.images == 0) chains.Close(dw.numel());
}

// [C, 9] to [9, C], or back.
std::vector<float> Transposed(const float* from, int64_t rows, int64_t columns) {
  std::vector<float> to(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  }
  return to;
}

void ScalePixels(const ImageRows& shape, const float* x, const float* scale, float* y) {
  const int64_t c = shape.channels;
  for (int64_t row = 0; row < shape.rows(); ++row, x += c, y += c) {
    const float* const of_image = scale + row / shape.pixels() * c;
    for (int64_t j = 0; j < c; ++j) y[j] = x[j] * of_image[j];
  }
}

// The sum over an image's pixels of dy x, in double.
void ScaleGradient(const ImageRows& shape, const float* dy, const float* x, float* dscale) {
  const int64_t c = shape.channels;
  for (int64_t image = 0; image < shape.images; ++image, dscale += c) {
    std::vector<double> sums(static_cast<size_t>(c));
    for (int64_t row = 0; row < shape.pixels(); ++row, dy += c, x += c) {
      for (int64_t j = 0; j < c; ++j) {
        sums[j] += static_cast<double>(dy[j]) * static_cast<double>(x[j]);
      }
    }
    std::transform(sums.begin(), sums.end(), dscale, [](double sum) { return static_cast<float>(sum); });
  }
}

}  // namespace

at::Tensor Convolve(const at::Tensor& x_BHWC, const at::Tensor& weight) {
  const ImageRows shape = ShapeOf(x_BHWC);
  at::Tensor y = NewFloats({shape.images, shape.height, shape.width, weight.size(0)});
  ForwardByBlocks(shape, x_BHWC, weight, y);
  return Differentiable({x_BHWC, weight}, y,
                        [shape, x = x_BHWC.detach(), w = weight.detach()](const at::Tensor& dy, const auto& needed) {
                          Tensors gradients(2);
                          if (needed[0]) InputGradientByBlocks(shape, dy, w, gradients[0] = NewLike(x));
                          if (needed[1]) WeightGradientByBlocks(shape, dy, x, gradients[1] = NewLike(w));
                          return gradients;
                        });
}

at::Tensor ConvolveDepthwise(const at::Tensor& x_BHWC, const at::Tensor& weight) {
  const ImageRows shape = ShapeOf(x_BHWC);
  const std::vector<float> w = Transposed(Data(weight), shape.channels, kTaps);
  at::Tensor y = NewLike(x_BHWC);
  kernels::Depthwise(shape, Data(x_BHWC), w.data(), MutableData(y));
  return Differentiable({x_BHWC, weight}, y, [shape, w, x = x_BHWC.detach()](const at::Tensor& dy, const auto& needed) {
    Tensors gradients(2);
    if (needed[0]) {
      kernels::DepthwiseInputGradient(shape, Data(dy), w.data(), MutableData(gradients[0] = NewLike(x)));
    }
    if (needed[1]) {
      std::vector<float> dw(w.size());
      kernels::DepthwiseWeightGradient(shape, Data(dy), Data(x), dw.data());
      const std::vector<float> by_channel = Transposed(dw.data(), kTaps, shape.channels);
      gradients[1] = NewFloats({shape.channels, 3, 3});
      std::copy(by_channel.begin(), by_channel.end(), MutableData(gradients[1]));
    }
    return gradients;
  });
}

at::Tensor MaxPool(const at::Tensor& x_BHWC) {
  const ImageRows shape = ShapeOf(x_BHWC);
  at::Tensor y = NewFloats({shape.images, shape.height / 2, shape.width / 2, shape.channels});
  auto chosen = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(y.numel()));
  kernels::MaxPool(shape, Data(x_BHWC), MutableData(y), chosen->data());
  return Differentiable({x_BHWC}, y, [shape, chosen](const at::Tensor& dy, const auto&) {
    at::Tensor dx = NewFloats({shape.images, shape.height, shape.width, shape.channels});
    kernels::MaxPoolBackward(shape, Data(dy), chosen->data(), MutableData(dx));
    return Tensors{dx};
  });
}

at::Tensor MeanOfImages(const at::Tensor& x_BHWC) {
  const ImageRows shape = ShapeOf(x_BHWC);
  const int64_t pixels = shape.pixels(), c = shape.channels;
  at::Tensor y = NewFloats({shape.images, c});
  for (int64_t image = 0; image < shape.images; ++image) {
    kernels::MeanOfRows({Data(x_BHWC) + image * pixels * c, pixels, c}, MutableData(y) + image * c);
  }
  return Differentiable({x_BHWC}, y, [shape, pixels, c](const at::Tensor& dy, const auto&) {
    at::Tensor dx = NewFloats({shape.images, shape.height, shape.width, c});
    for (int64_t image = 0; image < shape.images; ++image) {
      kernels::MeanOfRowsBackward(Data(dy) + image * c, {MutableData(dx) + image * pixels * c, pixels, c});
    }
    return Tensors{dx};
  });
}

at::Tensor ScaleChannels(const at::Tensor& x_BHWC, const at::Tensor& scale_BC) {
  const ImageRows shape = ShapeOf(x_BHWC);
  at::Tensor y = NewLike(x_BHWC);
  ScalePixels(shape, Data(x_BHWC), Data(scale_BC), MutableData(y));
  return Differentiable({x_BHWC, scale_BC}, y,
                        [shape, x = x_BHWC.detach(), s = scale_BC.detach()](const at::Tensor& dy, const auto&) {
                          Tensors gradients = {NewLike(x), NewLike(s)};
                          ScalePixels(shape, Data(dy), Data(s), MutableData(gradients[0]));
                          ScaleGradient(shape, Data(dy), Data(x), MutableData(gradients[1]));
                          return gradients;
                        });
}

}  // namespace reprise::models
