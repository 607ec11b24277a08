#include "models/morphogenesis/life_cycle/topology.h"

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

absl::Status CheckSize(absl::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the host's ", name, " is ", value, ", but must be ", least, " to ", most));
}

absl::Status ValidateCnn(const CnnShape& shape) {
  RETURN_IF_ERROR(CheckSize("number of classes", shape.num_classes, 2, 1 << 16));
  RETURN_IF_ERROR(CheckSize("number of blocks", shape.num_blocks, 2, 8));
  RETURN_IF_ERROR(CheckSize("base channels", shape.base_channels, 1, 1024));
  RETURN_IF_ERROR(CheckSize("image channels", shape.image_channels, 1, 64));
  return CheckSize("image size", shape.image_size, int64_t{1} << shape.num_blocks, 1024);
}

absl::Status ValidateTransformer(const TransformerShape& shape) {
  RETURN_IF_ERROR(CheckSize("vocabulary", shape.vocab_size, 2, 1 << 20));
  RETURN_IF_ERROR(CheckSize("width", shape.width, 1, 1 << 14));
  RETURN_IF_ERROR(CheckSize("number of layers", shape.num_layers, 1, 48));
  RETURN_IF_ERROR(CheckSize("block size", shape.block_size, 1, 1 << 14));
  RETURN_IF_ERROR(CheckSize("number of heads", shape.num_heads, 1, shape.width));
  if (shape.width % shape.num_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the host's width ", shape.width, " is not a multiple of its ", shape.num_heads, " heads"));
  }
  if (!(shape.dropout >= 0 && shape.dropout < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the host's dropout is ", shape.dropout, ", but must be at least 0 and less than 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view NameOf(Topology topology) { return topology == Topology::kCnn ? "cnn" : "transformer"; }

absl::Status ValidateHostShape(const HostShape& shape) {
  return shape.topology == Topology::kCnn ? ValidateCnn(shape.cnn) : ValidateTransformer(shape.transformer);
}

std::vector<InjectionPoint> InjectionPoints(const HostShape& shape) {
  std::vector<InjectionPoint> points;
  if (shape.topology == Topology::kCnn) {
    for (int64_t i = 1; i < shape.cnn.num_blocks; ++i) {
      points.push_back({absl::StrCat("block", i + 1, "_post"), shape.cnn.base_channels << i});
    }
  } else {
    for (int64_t i = 0; i < shape.transformer.num_layers; ++i) {
      points.push_back({absl::StrCat("layer_", i, "_post_block"), shape.transformer.width});
    }
  }
  return points;
}

}  // namespace reprise::models
