#include "models/decoder/testing/reference_decoder.h"

#include <algorithm>
#include <cmath>

namespace reprise::models::testing {
namespace {

using Matrix = std::vector<std::vector<double>>;  // rows

class Reference {
 public:
  Reference(const DecoderConfig& config, const DecoderLayout& layout, const std::vector<double>& parameters,
            const ReferenceAddition& add)
      : c_(config), layout_(layout), p_(parameters), add_(add) {}

  ReferenceOutput Run(const std::vector<int32_t>& tokens, double temperature) {
    ReferenceOutput out;
    Matrix x;
    for (int32_t token : tokens) x.push_back(Row(layout_.embedding, token));
    for (const LayerParameters& layer : layout_.layers) {
      Attend(layer, x);
      Mix(layer, x, out.probability_LTE);
    }
    for (size_t t = 0; t < x.size(); ++t) {
      std::vector<double>& row = x[t];
      row = Norm(row, layout_.final_norm);
      out.hidden_TD.insert(out.hidden_TD.end(), row.begin(), row.end());
      if (layout_.lm_head < 0) continue;
      std::vector<double> z = Times(layout_.lm_head, t, row);
      for (double& value : z) value /= temperature;
      const double shift = *std::max_element(z.begin(), z.end());
      double sum = 0;
      for (double value : z) sum += std::exp(value - shift);
      for (double value : z) out.logprob_TV.push_back(value - shift - std::log(sum));
    }
    return out;
  }

 private:
  const double* Data(int spec) const { return p_.data() + layout_.specs[spec].offset; }

  std::vector<double> Row(int spec, int64_t row) const {
    const int64_t width = layout_.specs[spec].shape[1];
    return {Data(spec) + row * width, Data(spec) + (row + 1) * width};
  }

  std::vector<double> Times(int spec, size_t position, const std::vector<double>& x) const {
    std::vector<double> y;
    for (int64_t n = 0; n < layout_.specs[spec].shape[0]; ++n) {
      double sum = 0;
      for (size_t k = 0; k < x.size(); ++k) sum += Data(spec)[static_cast<size_t>(n) * x.size() + k] * x[k];
      y.push_back(sum);
    }
    if (add_) add_(spec, static_cast<int64_t>(position), x, &y);
    return y;
  }

  std::vector<double> Norm(std::vector<double> x, int gain) const {
    double sum = 0;
    for (double value : x) sum += value * value;
    const double inverse = 1.0 / std::sqrt(sum / static_cast<double>(x.size()) + c_.rms_norm_eps);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= inverse * Data(gain)[i];
    return x;
  }

  std::vector<double> Clip(std::vector<double> x) const {
    if (c_.clip_qkv) {
      for (double& value : x) value = std::clamp(value, -*c_.clip_qkv, *c_.clip_qkv);
    }
    return x;
  }

  void Rotate(std::vector<double>& x, size_t position) const {
    const size_t width = static_cast<size_t>(c_.head_width()), half = width / 2;
    for (size_t head = 0; head < x.size(); head += width) {
      for (size_t j = 0; j < half; ++j) {
        const double angle = static_cast<double>(position) *
                             std::pow(c_.rope_theta, -2.0 * static_cast<double>(j) / static_cast<double>(width));
        const double a = x[head + j], b = x[head + j + half];
        x[head + j] = a * std::cos(angle) - b * std::sin(angle);
        x[head + j + half] = b * std::cos(angle) + a * std::sin(angle);
      }
    }
  }

  void Attend(const LayerParameters& layer, Matrix& x) const {
    const size_t width = static_cast<size_t>(c_.head_width());
    const size_t group = static_cast<size_t>(c_.num_attention_heads / c_.num_key_value_heads);
    Matrix keys, values;
    for (size_t t = 0; t < x.size(); ++t) {
      const std::vector<double> normed = Norm(x[t], layer.input_norm);
      std::vector<double> query = Clip(Norm(Times(layer.q, t, normed), layer.q_norm));
      keys.push_back(Clip(Norm(Times(layer.k, t, normed), layer.k_norm)));
      values.push_back(Clip(Times(layer.v, t, normed)));
      Rotate(query, t);
      Rotate(keys.back(), t);
      std::vector<double> attended;
      for (size_t head = 0; head < query.size() / width; ++head) {
        const size_t at = head * width, key_at = head / group * width;
        std::vector<double> weight;
        double sum = 0;
        for (size_t j = 0; j <= t; ++j) {
          double score = 0;
          for (size_t d = 0; d < width; ++d) score += query[at + d] * keys[j][key_at + d];
          weight.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
          sum += weight.back();
        }
        for (size_t d = 0; d < width; ++d) {
          double value = 0;
          for (size_t j = 0; j <= t; ++j) value += weight[j] / sum * values[j][key_at + d];
          attended.push_back(value);
        }
      }
      outputs_.resize(x.size());
      outputs_[t] = Times(layer.o, t, attended);
    }
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t d = 0; d < x[t].size(); ++d) x[t][d] += outputs_[t][d];
    }
  }

  void Mix(const LayerParameters& layer, Matrix& x, std::vector<double>& probabilities) const {
    for (size_t t = 0; t < x.size(); ++t) {
      std::vector<double>& row = x[t];
      const std::vector<double> normed = Norm(row, layer.post_norm);
      std::vector<double> probability = Times(layer.router, t, normed);
      double sum = 0;
      for (double& p : probability) sum += (p = std::exp(p));
      for (double& p : probability) p /= sum;
      probabilities.insert(probabilities.end(), probability.begin(), probability.end());
      std::vector<size_t> order(probability.size());
      for (size_t e = 0; e < order.size(); ++e) order[e] = e;
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return probability[a] > probability[b]; });
      order.resize(static_cast<size_t>(c_.num_experts_per_tok));
      double chosen = 0;
      for (size_t e : order) chosen += probability[e];
      for (size_t e : order) {
        const double weight = probability[e] / (c_.norm_topk_prob ? chosen : 1.0);
        std::vector<double> gate = Times(layer.gate_E[e], t, normed);
        const std::vector<double> up = Times(layer.up_E[e], t, normed);
        for (size_t f = 0; f < gate.size(); ++f) gate[f] = gate[f] / (1 + std::exp(-gate[f])) * up[f];
        const std::vector<double> down = Times(layer.down_E[e], t, gate);
        for (size_t d = 0; d < row.size(); ++d) row[d] += weight * down[d];
      }
    }
  }

  const DecoderConfig& c_;
  const DecoderLayout& layout_;
  const std::vector<double>& p_;
  const ReferenceAddition& add_;
  mutable Matrix outputs_;  // of the current layer
};

}  // namespace

ReferenceOutput ReferenceForward(const DecoderConfig& config, const DecoderLayout& layout,
                                 const std::vector<double>& parameters, const std::vector<int32_t>& tokens,
                                 double temperature, const ReferenceAddition& add) {
  return Reference(config, layout, parameters, add).Run(tokens, temperature);
}

}  // namespace reprise::models::testing
