#ifndef MODELS_DECODER_TESTING_REFERENCE_DECODER_H_
#define MODELS_DECODER_TESTING_REFERENCE_DECODER_H_

// A second implementation of the decoder, for tests: in double, one sequence at a time, written from the formulas of
// the OLMoE paper (Muennighoff et al. 2024). It shares only the parameter layout with Decoder.

#include <cstdint>
#include <functional>
#include <vector>

#include "models/decoder/parameters.h"

namespace reprise::models::testing {

struct ReferenceOutput {
  std::vector<double> hidden_TD;        // after the final norm
  std::vector<double> logprob_TV;       // log softmax of the logits / temperature; empty without lm-head
  std::vector<double> probability_LTE;  // the router's probabilities
};

// Adds to y, the product of matrix `spec` with the input x of the token at `position`: an adapter, for example.
using ReferenceAddition =
    std::function<void(int spec, int64_t position, const std::vector<double>& x, std::vector<double>* y)>;

// add: may be null.
ReferenceOutput ReferenceForward(const DecoderConfig& config, const DecoderLayout& layout,
                                 const std::vector<double>& parameters, const std::vector<int32_t>& tokens,
                                 double temperature, const ReferenceAddition& add = nullptr);

}  // namespace reprise::models::testing

#endif  // MODELS_DECODER_TESTING_REFERENCE_DECODER_H_
