#ifndef MODELS_OLMOE_OLMOE_MODEL_H_
#define MODELS_OLMOE_OLMOE_MODEL_H_

// An OLMoE checkpoint as one object: its tokenizer, its decoder and a head that chooses actions on a memory. It encodes
// texts, continues prompts, and gives the logits of actions.
//
// A model is loaded on one of two backends:
//
//   trainable   float32 weights. Encode returns the embedding of a text, [hidden_size].
//   inference   the decoder's matrices are rounded to bf16. Encode returns the mean of the logits over a text's tokens,
//               [vocab_size], which the action head refuses.
//
// Only the trainable backend has the action head (ActionLogits), and gradients, by which an optimizer of LibTorch can
// train decoder and head (models/olmoe/torch_olmoe.h). All else works on both.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "core/tensor/tensor.h"
#include "models/decoder/model.h"
#include "models/lora/lora_config.h"
#include "models/olmoe/memory_action_head.h"
#include "models/tokenizer/tokenizer.h"

namespace reprise::models {

enum class Backend { kNone, kTrainable, kInference };

absl::string_view NameOf(Backend backend);  // "none", "trainable", "inference"

struct OlmoeModelOptions {
  bool load_in_8bit = false, load_in_4bit = false;  // Load refuses them
  int64_t max_length = 2048;  // tokens of a text that Encode and Embed read; later ones are cut off
  // How Generate draws tokens where a call does not say otherwise.
  float temperature = 0.7f;
  float top_p = 0.9f;
  int64_t top_k = 50;        // 0: all tokens
  bool do_sample = true;     // false: always the most probable token
  uint64_t seed = 42;        // of the action head's initial parameters, and of the draws of Generate
  int64_t memory_bytes = 0;  // that decoders may take; 0: as many as this process may use
};

// What one call of Generate may set.
struct GenerateTextOptions {
  int64_t max_new_tokens = 256;
  std::optional<float> temperature = std::nullopt, top_p = std::nullopt;
  std::optional<int64_t> top_k = std::nullopt;
  uint64_t sample = 0;  // below 2^32. Another number gives another text; the same one gives the same text again
};

// Parameters that may be changed; afterwards OlmoeModel::Refresh must be called.
struct MutableTensor {
  std::string name;  // "model.norm.weight", "action_head.1.bias"
  Shape shape;
  absl::Span<float> values;
};

// Tensors by name, in parts by name. The views must not outlive the model that they are of.
using StateDict = std::map<std::string, std::map<std::string, TensorView>>;

struct OlmoeInfo {
  std::string model_name;  // the directory; empty if no model is loaded
  std::string device;      // "cpu", likewise
  std::string warning;     // that adapters were ignored; else empty
  bool is_loaded = false;
  bool has_lora = false;
  Backend backend = Backend::kNone;
  int64_t parameters = 0;              // of the decoder, or with adapters theirs
  int64_t action_head_parameters = 0;  // 0 without an action head
};

// Errors of the functions below: FailedPrecondition with these messages.
inline constexpr absl::string_view kModelNotLoaded = "Model not loaded";
inline constexpr absl::string_view kNoActionHead =
    "action_head is not available. GRPO training requires the transformers backend (use_mlx=False or mlx-lm not "
    "installed).";
inline constexpr absl::string_view kNoAdapters =
    "the model has no adapters: call AddLoraAdapter or LoadLoraAdapter first";
inline constexpr absl::string_view kNoAdaptersToInfer =
    "adapters need the trainable backend; the inference backend reads a model into which they are merged";

// Movable; a copy is made by Copy. Not thread-safe: calls use the pool, which has one caller at a time.
class OlmoeModel {
 public:
  // Loads nothing: there is no decoder, tokenizer or action head yet. The pool must outlive the model and its copies.
  explicit OlmoeModel(ThreadPool& pool, OlmoeModelOptions options = {}) : pool_(&pool), options_(options) {}

  // Reads a Hugging Face model directory. On the trainable backend a new action head is attached, whose hidden_dim is
  // the hidden_size of config.json. A model that was loaded before is replaced; after an error it is still there.
  // Unimplemented for load_in_8bit and load_in_4bit; InvalidArgument for Backend::kNone, an option out of range, files
  // that do not go together, or weights that this machine cannot hold; else errors of the files, which name them.
  // lora_directory: adapters to be loaded with it, as by LoadLoraAdapter; empty: none. The inference-only backend
  // ignores them, and Info().warning says so.
  absl::Status Load(const std::string& directory, Backend backend = Backend::kTrainable,
                    const std::string& lora_directory = "");

  // Adapters (models/lora). A model that has them computes with the frozen decoder and the adapters, which are its
  // parameters in the decoder's place, also in its state dict. Dropout is a matter of training runs: nothing here drops
  // inputs. Each replaces adapters that the model had, with which views of these end, and changes nothing after an
  // error.
  //
  // Adds new adapters, which change no output. kModelNotLoaded, kNoAdaptersToInfer; InvalidArgument for adapters that
  // the decoder cannot have, and where there is no memory for them: until the first adapters are there, the decoder is
  // in memory twice.
  absl::Status AddLoraAdapter(const LoraConfig& lora);
  // Adds those of a directory of the PEFT library, of whatever rank and modules. The same errors, and those of
  // LoadAdapters (models/olmoe/peft_directory.h).
  absl::Status LoadLoraAdapter(const std::string& directory);
  // Writes the adapters as such a directory. kModelNotLoaded, kNoAdapters; else errors of SaveAdapters.
  absl::Status SaveLoraAdapter(const std::string& directory) const;

  bool is_loaded() const { return model_ != nullptr; }
  Backend backend() const { return backend_; }
  OlmoeInfo Info() const;

  // The parts; null before Load. The head is null on the inference-only backend too.
  Model* model() { return model_.get(); }
  const Model* model() const { return model_.get(); }
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  MemoryActionHead* action_head() { return action_head_.get(); }
  const MemoryActionHead* action_head() const { return action_head_.get(); }

  // Returns the tokens of a text that Encode reads: at most max_length, and no more than the model has positions.
  // kModelNotLoaded; InvalidArgument for an empty text, which has no mean; else errors of Tokenizer::Encode.
  absl::StatusOr<std::vector<int32_t>> TokensOf(absl::string_view text) const;
  // The same for each of several texts; an error says which of them it is about, counting from 0.
  absl::StatusOr<std::vector<std::vector<int32_t>>> TokensOf(absl::Span<const std::string> texts) const;

  // Returns the mean of a text's last hidden states (after the final norm) over its tokens (kernels/rows/mean_rows.h),
  // [hidden_size]; on the inference-only backend the mean of its logits, [vocab_size]. Errors of TokensOf.
  absl::StatusOr<std::vector<float>> Encode(absl::string_view text) const;
  // The same for each of several texts, packed into batches without padding: the bits of each are those of the text
  // alone.
  absl::StatusOr<std::vector<std::vector<float>>> Encode(absl::Span<const std::string> texts) const;
  // The same for sequences of tokens. InvalidArgument for an empty one, one that is longer than the model's positions,
  // and for a token beyond the vocabulary.
  absl::StatusOr<std::vector<std::vector<float>>> EncodeTokens(absl::Span<const std::vector<int32_t>> tokens_BS) const;

  // Returns the mean of a text's last hidden states over its tokens, [hidden_size], on both backends: on the trainable
  // one the bits of Encode. The action head has no part in it. Errors of TokensOf.
  absl::StatusOr<std::vector<float>> Embed(absl::string_view text) const;

  // Continues the prompt and returns the new text alone, without end token and without white space around it. A pure
  // function of the weights, the prompt and the options. kModelNotLoaded; InvalidArgument for an empty prompt, an
  // option out of range, or a prompt that leaves no room for max_new_tokens within the model's positions.
  absl::StatusOr<std::string> Generate(absl::string_view prompt, const GenerateTextOptions& options = {}) const;

  // Returns the logits of the actions for an embedding [hidden_size]. kNoActionHead; InvalidArgument, naming both
  // sizes, for an embedding of another width. MemoryActionHead::Forward takes several embeddings at once.
  absl::StatusOr<std::vector<float>> ActionLogits(absl::Span<const float> embedding) const;

  // Returns all parameters, those of the decoder first, under their Hugging Face names, then those of the action head.
  std::vector<MutableTensor> Parameters();
  // Packs the parameters for the kernels; must be called after every change of them.
  void Refresh();

  // Returns {"model": {"model.norm.weight": ...}, "action_head": {"0.weight": ...}}, each part only if there is one.
  StateDict GetStateDict() const;
  // Copies each part that both the dictionary and this model have; other parts are ignored. The tensors of a part must
  // be exactly those of this model. InvalidArgument for a missing or unexpected tensor or another shape, DataLoss for a
  // value that is not finite, each naming the tensor; nothing is changed then.
  absl::Status LoadStateDict(const StateDict& state);

  // Returns a model with weights of its own, decoder and action head, equal to these: a change of one is never visible
  // in the other.
  OlmoeModel Copy() const;

 private:
  // Of each part: its name, its layout and its parameters.
  struct Part {
    std::string name;
    absl::string_view prefix;  // of tensors' names in the layout, not in a StateDict
    const FlatLayout* layout;
    absl::Span<float> values;
  };
  std::vector<Part> Parts() const;
  absl::StatusOr<std::unique_ptr<Model>> WithAdapters(const LoraConfig& lora) const;

  ThreadPool* pool_;
  OlmoeModelOptions options_;
  Backend backend_ = Backend::kNone;
  std::string directory_, warning_;
  std::unique_ptr<Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;  // immutable: copies share it
  std::vector<int32_t> end_tokens_;             // of Generate
  std::unique_ptr<MemoryActionHead> action_head_;
};

}  // namespace reprise::models

#endif  // MODELS_OLMOE_OLMOE_MODEL_H_
