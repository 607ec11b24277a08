#ifndef TESTS_REFERENCE_DECODER_H_
#define TESTS_REFERENCE_DECODER_H_

// The decoder on a tape, in double, token by token: the formulas of the OLMoE paper (Muennighoff et al., 2024, arXiv
// 2409.02060) as Transformers' OlmoeForCausalLM computes them. Uses only the names and shapes of Reprise's decoder.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/decoder/parameters.h"
#include "tests/reference/tape.h"

namespace reprise::reference {

// The offset of each tensor in the weights, by its Hugging Face name.
using TensorPlaces = std::map<std::string, size_t>;
TensorPlaces FindTensors(const models::DecoderLayout& layout);

// The keys and values of a sequence's tokens so far, to which later tokens attend. Copies are independent.
struct Context {
  size_t position = 0;
  std::vector<std::vector<std::vector<Var>>> key_LHT, value_LHT;  // by layer, head of the keys, position
};

class Decoder {
 public:
  // `prefix` is prepended to the names of all tensors: "" for the policy. All references must outlive the decoder.
  Decoder(const models::DecoderConfig& config, const TensorPlaces& places, std::string prefix, Tape* tape)
      : c_(config), places_(places), prefix_(std::move(prefix)), tape_(*tape) {}

  Context Begin() const;
  // Appends the token to the sequence and returns its hidden state after the final norm.
  Var Next(int32_t token, Context* context);
  // Returns the log-probabilities of the token after that hidden state.
  Var LogProbabilities(Var hidden, double temperature) const;
  // Returns v_head.summary of the hidden state.
  Var Value(Var hidden) const;

  // The routers' probabilities for each token and layer of all calls of Next, and the counts of the chosen experts.
  const std::vector<Var>& router_probabilities() const { return router_probabilities_; }
  const std::vector<int64_t>& expert_count_LE() const { return expert_count_LE_; }

 private:
  size_t Place(const std::string& name) const { return places_.at(prefix_ + name + ".weight"); }
  Var Norm(Var x, const std::string& gain) const;
  Var Clipped(Var x) const;
  Var Rotated(Var x, size_t position) const;
  Var Attend(size_t layer, Var x, Context* context) const;
  Var Mix(size_t layer, Var x);

  const models::DecoderConfig& c_;
  const TensorPlaces& places_;
  const std::string prefix_;
  Tape& tape_;
  std::vector<Var> router_probabilities_;
  std::vector<int64_t> expert_count_LE_ =
      std::vector<int64_t>(static_cast<size_t>(c_.num_hidden_layers * c_.num_experts), 0);
};

}  // namespace reprise::reference

#endif  // TESTS_REFERENCE_DECODER_H_
