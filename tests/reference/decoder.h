#ifndef TESTS_REFERENCE_DECODER_H_
#define TESTS_REFERENCE_DECODER_H_

// The decoder on a tape, in double, token by token: the formulas of the OLMoE paper (Muennighoff et al., 2024, arXiv
// 2409.02060) as Transformers' OlmoeForCausalLM computes them. Of the product it knows names and shapes alone.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/decoder/parameters.h"
#include "tests/reference/tape.h"

namespace reprise::reference {

// Where a tensor begins among the weights, by its Hugging Face name.
using TensorPlaces = std::map<std::string, size_t>;
TensorPlaces PlacesOf(const models::ParameterLayout& layout);

// What later tokens of a sequence see of the earlier ones. A copy goes on independently.
struct Context {
  size_t position = 0;
  std::vector<std::vector<std::vector<Var>>> key_LHT, value_LHT;  // by layer, head of the keys, position
};

class Decoder {
 public:
  // `prefix` stands before the names of all tensors: "" is the policy. All must outlive the decoder.
  Decoder(const models::DecoderConfig& config, const TensorPlaces& places, std::string prefix, Tape* tape)
      : c_(config), places_(places), prefix_(std::move(prefix)), tape_(*tape) {}

  Context Begin() const;
  // The hidden state, after the final norm, of the sequence's next token.
  Var Next(int32_t token, Context* context);
  // The log-probabilities of what follows that hidden state.
  Var LogProbabilities(Var hidden, double temperature) const;
  // v_head.summary of it.
  Var Value(Var hidden) const;

  // The routers' probabilities and choices of all that Next has seen: one a token and layer.
  const std::vector<Var>& router_probabilities() const { return router_probabilities_; }
  const std::vector<int64_t>& expert_count_E() const { return expert_count_E_; }

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
  std::vector<int64_t> expert_count_E_ = std::vector<int64_t>(static_cast<size_t>(c_.num_experts), 0);
};

}  // namespace reprise::reference

#endif  // TESTS_REFERENCE_DECODER_H_
