#include "tests/reference/decoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reprise::reference {
namespace {

std::string Layer(size_t layer) { return "model.layers." + std::to_string(layer) + "."; }

}  // namespace

TensorPlaces FindTensors(const models::DecoderLayout& layout) {
  TensorPlaces places;
  for (const ParameterSpec& spec : layout.specs) places[spec.name] = static_cast<size_t>(spec.offset);
  return places;
}

Context Decoder::Begin() const {
  Context context;
  const std::vector<std::vector<Var>> nothing(static_cast<size_t>(c_.num_key_value_heads));
  context.key_LHT.assign(static_cast<size_t>(c_.num_hidden_layers), nothing);
  context.value_LHT = context.key_LHT;
  return context;
}

// Returns x / (root mean square of x) * gain.
Var Decoder::Norm(Var x, const std::string& gain) const {
  const Var mean_square = (1.0 / static_cast<double>(x.size())) * Dot(x, x);
  return x / Sqrt(c_.rms_norm_eps + mean_square) * tape_.Weights(Place(gain), x.size());
}

Var Decoder::Clipped(Var x) const { return c_.clip_qkv ? Clamp(x, -*c_.clip_qkv, *c_.clip_qkv) : x; }

// Rotary positions of one head: rotates the pairs (j, j + width / 2) by position * theta^(-2 j / width).
Var Decoder::Rotated(Var x, size_t position) const {
  const size_t half = x.size() / 2;
  Vector cosine, sine;
  for (size_t j = 0; j < half; ++j) {
    const double share = 2.0 * static_cast<double>(j) / static_cast<double>(x.size());
    const double angle = static_cast<double>(position) * std::pow(c_.rope_theta, -share);
    cosine.push_back(std::cos(angle));
    sine.push_back(std::sin(angle));
  }
  const Var first = Slice(x, 0, half), second = Slice(x, half, half);
  const Var c = tape_.Constant(cosine), s = tape_.Constant(sine);
  return tape_.Concat({first * c - second * s, second * c + first * s});
}

Var Decoder::Attend(size_t layer, Var x, Context* context) const {
  const std::string name = Layer(layer) + "self_attn.";
  const size_t width = static_cast<size_t>(c_.head_width());
  const size_t heads = static_cast<size_t>(c_.num_attention_heads);
  const size_t key_heads = static_cast<size_t>(c_.num_key_value_heads);
  const Var query = Clipped(Norm(tape_.Times(Place(name + "q_proj"), heads * width, x), name + "q_norm"));
  const Var key = Clipped(Norm(tape_.Times(Place(name + "k_proj"), key_heads * width, x), name + "k_norm"));
  const Var value = Clipped(tape_.Times(Place(name + "v_proj"), key_heads * width, x));
  std::vector<std::vector<Var>>&key_HT = context->key_LHT[layer], &value_HT = context->value_LHT[layer];
  for (size_t h = 0; h < key_heads; ++h) {
    key_HT[h].push_back(Rotated(Slice(key, h * width, width), context->position));
    value_HT[h].push_back(Slice(value, h * width, width));
  }
  std::vector<Var> attended;
  for (size_t h = 0; h < heads; ++h) {
    const size_t key_head = h / (heads / key_heads);
    const Var q = Rotated(Slice(query, h * width, width), context->position);
    std::vector<Var> scores;
    for (const Var k : key_HT[key_head]) scores.push_back(Dot(q, k));
    const Var share = Softmax((1.0 / std::sqrt(static_cast<double>(width))) * tape_.Concat(scores));
    attended.push_back(tape_.WeightedSum(share, value_HT[key_head]));
  }
  return tape_.Times(Place(name + "o_proj"), static_cast<size_t>(c_.hidden_size), tape_.Concat(attended));
}

// Returns the sum of the most probable experts' results, weighted by their probabilities. Of equally probable experts,
// those of lower index are chosen first.
Var Decoder::Mix(size_t layer, Var x) {
  const std::string name = Layer(layer) + "mlp.";
  const size_t experts = static_cast<size_t>(c_.num_experts), width = static_cast<size_t>(c_.intermediate_size);
  const Var probability = Softmax(tape_.Times(Place(name + "gate"), experts, x));
  router_probabilities_.push_back(probability);
  std::vector<size_t> order(experts);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return probability.value()[a] > probability.value()[b]; });
  order.resize(static_cast<size_t>(c_.num_experts_per_tok));
  std::vector<Var> shares, outputs;
  for (const size_t e : order) {
    ++expert_count_LE_[layer * experts + e];
    const std::string expert = name + "experts." + std::to_string(e) + ".";
    const Var gate = tape_.Times(Place(expert + "gate_proj"), width, x);
    const Var up = tape_.Times(Place(expert + "up_proj"), width, x);
    const Var inner = gate * Sigmoid(gate) * up;
    outputs.push_back(tape_.Times(Place(expert + "down_proj"), static_cast<size_t>(c_.hidden_size), inner));
    shares.push_back(Slice(probability, e, 1));
  }
  Var share = tape_.Concat(shares);
  if (c_.norm_topk_prob) share = share / Sum(share);
  return tape_.WeightedSum(share, outputs);
}

Var Decoder::Next(int32_t token, Context* context) {
  const size_t width = static_cast<size_t>(c_.hidden_size);
  Var x = tape_.Weights(Place("model.embed_tokens") + static_cast<size_t>(token) * width, width);
  if (token == c_.pad_token_id) x = Detach(x);  // PyTorch's padding_idx
  for (size_t layer = 0; layer < static_cast<size_t>(c_.num_hidden_layers); ++layer) {
    x = x + Attend(layer, Norm(x, Layer(layer) + "input_layernorm"), context);
    x = x + Mix(layer, Norm(x, Layer(layer) + "post_attention_layernorm"));
  }
  ++context->position;
  return Norm(x, "model.norm");
}

Var Decoder::LogProbabilities(Var hidden, double temperature) const {
  const size_t head = c_.tie_word_embeddings ? Place("model.embed_tokens") : Place("lm_head");
  return LogSoftmax((1.0 / temperature) * tape_.Times(head, static_cast<size_t>(c_.vocab_size), hidden));
}

Var Decoder::Value(Var hidden) const {
  return tape_.Times(places_.at("v_head.summary.weight"), 1, hidden) +
         tape_.Weights(places_.at("v_head.summary.bias"), 1);
}

}  // namespace reprise::reference
