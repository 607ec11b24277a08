#ifndef MODELS_OLMOE_PEFT_DIRECTORY_H_
#define MODELS_OLMOE_PEFT_DIRECTORY_H_

// Reads and writes the adapters of a decoder as a directory of the PEFT library: adapter_config.json and
// adapter_model.safetensors.

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "models/decoder/config.h"
#include "models/olmoe/adapter_config.h"

namespace reprise::models {

// The names of the files of an adapter's directory.
inline constexpr absl::string_view kAdapterFiles[] = {"adapter_config.json", "adapter_model.safetensors"};
// The adapters' directory within that of the exported model into which they are merged.
inline constexpr absl::string_view kAdapterDirectory = "adapter";

// Writes the adapters to `directory`, which is created if absent; adapter_config.json last. config.lora is on;
// `weights`: flat, in the layout of `config`, of which a value function is left out. base_model: where PEFT finds the
// frozen model, may be empty. With adapters in experts the file's lora_dropout is 0, without which PEFT does not load
// them. The same weights give the same files. AlreadyExists, before anything is written, if one
// of them exists; Internal, naming the tensor, for a weight that is not finite.
absl::Status SaveAdapters(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                          absl::string_view base_model, absl::Span<const float> weights);

// Writes the adapters to DIRECTORY/adapter, then calls `export_merged`, which writes the model into which they are
// merged to `directory`. If that fails, the adapters' files are removed, but not after AlreadyExists or
// NotFound: another process exports to the same directory then. Errors: those of SaveAdapters and of the call.
absl::Status ExportWithAdapters(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                                absl::string_view base_model, absl::Span<const float> weights,
                                const std::function<absl::Status()>& export_merged);

// Reads DIRECTORY/adapter_config.json. NotFound if it is missing; errors of ParseAdapterConfig.
absl::StatusOr<AdapterDescription> ReadAdapterConfig(const std::string& directory);

// Reads the adapters of a directory into `weights`, the first floats of an array in the layout of `config` (padding is
// unchanged). The tensors' names may have the name of the adapter too ("lora_A.default.weight"), or lack the prefix
// "base_model.model.". Errors of ReadAdapterConfig; InvalidArgument, naming the file and the difference, for a rank,
// alpha, target modules, tensor, shape or type of elements that is not config's. DataLoss for a damaged file or a value
// that is not finite or whose magnitude is beyond 1e4. (SaveAdapters has no such limit: a run is valid as long as its
// weights are within core/tensor/bounds.h, and must not fail when its model is exported.)
absl::Status LoadAdapters(const std::string& directory, const DecoderConfig& config, absl::Span<float> weights);

// Adds the adapters to the weights of the frozen model, which are flat in MakeBaseLayout(config): W + alpha / r B A,
// where a model without adapters computes what this one does but for rounding.
void MergeAdapters(const DecoderConfig& config, absl::Span<const float> adapters, absl::Span<float> base);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_PEFT_DIRECTORY_H_
