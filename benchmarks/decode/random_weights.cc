#include "benchmarks/decode/random_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/status/check.h"
#include "kernels/products/packed_matrix.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::benchmarks {
namespace {

constexpr size_t kBlockBytes = size_t{64} << 20;
constexpr float kDeviation = 0x1p-6f;

// Returns the descriptor of a file in memory with the block.
int FileOfBlock() {
  const int file = memfd_create("parameters", 0);
  CHECK(file >= 0);
  CHECK_EQ(ftruncate(file, static_cast<off_t>(kBlockBytes)), 0);
  void* const block = mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(block != MAP_FAILED);
  const std::vector<float> values = BlockOfWeights();
  std::memcpy(block, values.data(), kBlockBytes);
  munmap(block, kBlockBytes);
  return file;
}

}  // namespace

std::vector<float> BlockOfWeights() {
  std::vector<float> values =
      testing::RandomNormals(static_cast<int64_t>(kBlockBytes / sizeof(float)), /*seed=*/7, kDeviation);
  for (float& value : values) value = kernels::FromBf16(kernels::RoundToBf16(value));
  return values;
}

std::unique_ptr<RandomWeights> RandomWeights::Create(const models::DecoderConfig& config) {
  return std::unique_ptr<RandomWeights>(new RandomWeights(config));
}

RandomWeights::RandomWeights(const models::DecoderConfig& config)
    : config_(config),
      layout_(models::MakeDecoderLayout(config)),
      rotary_(kernels::MakeRotaryTable(config.max_position_embeddings, config.head_width(), config.rope_theta)) {
  const size_t blocks = (static_cast<size_t>(layout_.total) * sizeof(float) + kBlockBytes - 1) / kBlockBytes;
  bytes_ = blocks * kBlockBytes;
  void* const memory = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  const int file = FileOfBlock();
  for (size_t offset = 0; offset < bytes_; offset += kBlockBytes) {
    CHECK(mmap(static_cast<std::byte*>(memory) + offset, kBlockBytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file, 0) != MAP_FAILED);
  }
  close(file);
  parameters_ = static_cast<float*>(memory);
  for (const ParameterSpec& spec : layout_.specs) {
    if (spec.shape.size() == 1) std::fill_n(parameters_ + spec.offset, spec.size, 1.0f);
  }
  // Embeddings are as large as the layers' outputs, so that different tokens use different experts.
  const ParameterSpec& embedding = layout_.specs[layout_.embedding];
  for (int64_t i = 0; i < embedding.size; ++i) parameters_[embedding.offset + i] *= kEmbeddingScale;
  weights_ = std::make_unique<models::PackedWeights>(config_, layout_, parameters_, /*training=*/false);
  ThreadPool pool(1);
  weights_->Refresh(pool);
  decoder_.reset(new models::Decoder{config_, layout_, *weights_, rotary_});
}

RandomWeights::~RandomWeights() { munmap(parameters_, bytes_); }

}  // namespace reprise::benchmarks
