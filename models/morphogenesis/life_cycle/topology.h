#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_TOPOLOGY_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_TOPOLOGY_H_

// Hosts: the networks into which seeds are put.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise::models {

enum class Topology : uint8_t { kCnn = 0, kTransformer = 1 };

absl::string_view NameOf(Topology topology);  // "cnn", "transformer"

// Block i: a 3x3 convolution to base_channels * 2^i channels, batch normalisation, ReLU, 2x2 max-pooling. Then global
// average pooling and a linear layer.
struct CnnShape {
  int64_t num_classes = 10;
  int64_t num_blocks = 3;
  int64_t base_channels = 32;
  int64_t image_size = 32;  // rows and columns
  int64_t image_channels = 3;
};

// Token and position embeddings, pre-LN blocks with causal attention, final LN, lm-head tied to the token embedding.
struct TransformerShape {
  int64_t vocab_size = 50257;
  int64_t width = 384;
  int64_t num_heads = 6;
  int64_t num_layers = 6;
  int64_t block_size = 256;  // the longest sequence
  double dropout = 0.1;
};

struct HostShape {
  Topology topology = Topology::kCnn;
  CnnShape cnn;                  // used if the topology is kCnn
  TransformerShape transformer;  // used if it is kTransformer
};

// InvalidArgument: a size out of range, a CNN of fewer than two blocks or whose images have fewer pixels than its
// pooling divides by, heads that do not divide the width.
absl::Status ValidateHostShape(const HostShape& shape);

// A place in a host where a slot can be.
struct InjectionPoint {
  std::string slot_id;   // "block2_post"; "layer_0_post_block"
  int64_t channels = 0;  // or the transformer's width
};

// In the order of the forward pass. A CNN has one after each block but the first, a transformer one after each block.
std::vector<InjectionPoint> InjectionPoints(const HostShape& shape);

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_TOPOLOGY_H_
