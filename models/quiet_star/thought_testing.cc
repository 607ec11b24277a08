#include "models/quiet_star/thought_testing.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/random/draw.h"
#include "core/status/check.h"
#include "models/decoder/testing/reference_decoder.h"
#include "models/decoder/testing/testing.h"
#include "models/quiet_star/thinking_tokens.h"

namespace reprise::models::testing {
namespace {

const ParameterSpec& SpecOf(const DecoderLayout& layout, const std::string& name) {
  const auto found = std::ranges::find(layout.specs, name, &ParameterSpec::name);
  CHECK(found != layout.specs.end());
  return *found;
}

// y = W x, of the matrix at `offset`.
std::vector<double> Multiply(const std::vector<double>& parameters, const ParameterSpec& spec,
                             const std::vector<double>& x) {
  std::vector<double> y(static_cast<size_t>(spec.size) / x.size());
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t j = 0; j < x.size(); ++j) {
      y[i] += parameters[static_cast<size_t>(spec.offset) + i * x.size() + j] * x[j];
    }
  }
  return y;
}

// A perceptron with ReLU and one output.
double Perceptron(const DecoderLayout& layout, const std::vector<double>& parameters, const std::string& name,
                  int layers, std::vector<double> x) {
  for (int l = 0; l < layers; ++l) {
    const std::string prefix = name + "." + std::to_string(l);
    x = Multiply(parameters, SpecOf(layout, prefix + ".weight"), x);
    const ParameterSpec& bias = SpecOf(layout, prefix + ".bias");
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] += parameters[static_cast<size_t>(bias.offset) + i];
      if (l + 1 < layers) x[i] = std::max(x[i], 0.0);
    }
  }
  return x[0];
}

std::vector<double> LogSoftmax(std::vector<double> z) {
  const double max = *std::ranges::max_element(z);
  double sum = 0;
  for (const double v : z) sum += std::exp(v - max);
  for (double& v : z) v -= max + std::log(sum);
  return z;
}

double Entropy(const std::vector<double>& logprob_V) {
  double entropy = 0;
  for (const double l : logprob_V) entropy -= std::exp(l) * l;
  return entropy;
}

std::vector<double> Linear(const DecoderLayout& layout, const std::vector<double>& parameters, const std::string& name,
                           const std::vector<double>& x) {
  std::vector<double> y = Multiply(parameters, SpecOf(layout, name + ".0.weight"), x);
  const ParameterSpec& bias = SpecOf(layout, name + ".0.bias");
  for (size_t i = 0; i < y.size(); ++i) y[i] += parameters[static_cast<size_t>(bias.offset) + i];
  return y;
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

double Dot(const std::vector<double>& a, const std::vector<double>& b, size_t first, size_t count) {
  double sum = 0;
  for (size_t i = first; i < first + count; ++i) sum += a[i] * b[i];
  return sum;
}

double CoherenceOf(const DecoderLayout& layout, const std::vector<double>& parameters, const std::vector<double>& h,
                   const std::vector<double>& mean) {
  const std::vector<double> projected = Linear(layout, parameters, "coherence.semantic", h);
  const size_t width = h.size();
  const double cosine =
      Dot(projected, mean, 0, width) / std::sqrt(Dot(projected, projected, 0, width) * Dot(mean, mean, 0, width));
  return 0.4 * (cosine + 1) / 2 + 0.3 * Logistic(Perceptron(layout, parameters, "coherence.syntactic", 2, mean)) +
         0.3 * Logistic(Linear(layout, parameters, "coherence.predictive", mean)[0]);
}

// The attention mixing head's output for one text row; gate_mean: the mean of its gate.
std::vector<double> Attend(const DecoderLayout& layout, const std::vector<double>& parameters, int64_t heads,
                           const std::vector<double>& h, const std::vector<std::vector<double>>& thoughts,
                           const std::vector<double>& coherence, double* gate_mean) {
  const size_t width = h.size(), head_width = width / static_cast<size_t>(heads);
  const std::vector<double> q = Linear(layout, parameters, "mixing_head.query", h);
  std::vector<double> attended(width);
  for (size_t first = 0; first < width; first += head_width) {
    std::vector<double> weight;
    double sum = 0;
    for (size_t k = 0; k < thoughts.size(); ++k) {
      const std::vector<double> key = Linear(layout, parameters, "mixing_head.key", thoughts[k]);
      weight.push_back(
          std::exp(Dot(q, key, first, head_width) / std::sqrt(static_cast<double>(head_width)) + coherence[k]));
      sum += weight.back();
    }
    for (size_t k = 0; k < thoughts.size(); ++k) {
      const std::vector<double> value = Linear(layout, parameters, "mixing_head.value", thoughts[k]);
      for (size_t d = first; d < first + head_width; ++d) attended[d] += weight[k] / sum * value[d];
    }
  }
  const std::vector<double> t = Linear(layout, parameters, "mixing_head.output", attended);
  std::vector<double> pair = h;
  pair.insert(pair.end(), t.begin(), t.end());
  const std::vector<double> gate = Linear(layout, parameters, "mixing_head.gate", pair);
  std::vector<double> sum(width);
  double mean = 0, squares = 0;
  *gate_mean = 0;
  for (size_t d = 0; d < width; ++d) {
    const double g = Logistic(gate[d]);
    *gate_mean += g / static_cast<double>(width);
    sum[d] = h[d] + g * t[d] + (1 - g) * h[d];
    mean += sum[d] / static_cast<double>(width);
  }
  for (const double v : sum) squares += (v - mean) * (v - mean) / static_cast<double>(width);
  const size_t gain = static_cast<size_t>(SpecOf(layout, "mixing_head.norm.weight").offset),
               bias = static_cast<size_t>(SpecOf(layout, "mixing_head.norm.bias").offset);
  for (size_t d = 0; d < width; ++d) {
    sum[d] = (sum[d] - mean) / std::sqrt(squares + 1e-5) * parameters[gain + d] + parameters[bias + d];
  }
  return sum;
}

std::vector<double> RowOf(const std::vector<double>& all, int64_t row, int64_t width) {
  return {all.begin() + row * width, all.begin() + (row + 1) * width};
}

}  // namespace

std::unique_ptr<ThoughtModel> RandomThoughtModel(const DecoderConfig& config, const ThoughtHeadsShape& shape,
                                                 uint64_t seed) {
  std::unique_ptr<ThoughtModel> model = *ThoughtModel::Create(WithThinkingTokens(config), shape, /*training=*/true);
  const std::vector<float> base = RandomBase(model->config(), seed);
  std::ranges::copy(base, model->mutable_parameters().begin());
  for (const ParameterSpec& spec : model->layout().specs) {
    if (spec.name.starts_with("model.") || spec.name.starts_with("lm_head")) continue;
    const float middle = spec.name == "mixing_head.norm.weight" ? 1.0f : 0.0f;
    for (int64_t i = 0; i < spec.size; ++i) {
      const double u = DrawUniform(seed, Purpose::kTest,
                                   {.step = static_cast<uint64_t>(spec.offset), .token = static_cast<uint64_t>(i)});
      model->mutable_parameters()[spec.offset + i] = middle + static_cast<float>(0.6 * (u - 0.5));
    }
  }
  ThreadPool pool(1);
  model->Refresh(pool);
  return model;
}

ThoughtExamples::ThoughtExamples(const DecoderConfig& config, const std::vector<int64_t>& lengths) {
  for (size_t t = 0; t < lengths.size(); ++t) {
    tokens_.push_back(RandomTokens(config, 100 + t, lengths[t]));
    std::vector<Thought> thoughts;
    for (int64_t position = static_cast<int64_t>(t % 2); position + 1 < lengths[t]; position += 2) {
      for (int64_t sample = 0; sample < 2; ++sample) {
        const uint64_t seed = 1000 * (t + 1) + static_cast<uint64_t>(10 * position + sample);
        thoughts.push_back({position, RandomTokens(config, seed, 1 + (position + sample) % 3)});
      }
    }
    thoughts_.push_back(std::move(thoughts));
  }
  for (size_t t = 0; t < lengths.size(); ++t) texts_.push_back({tokens_[t], thoughts_[t]});
}

namespace {

// One text in double: the text itself, and every thought as a sequence of its own.
class ReferenceText {
 public:
  ReferenceText(const ThoughtModel& model, const std::vector<double>& parameters, const ThoughtfulText& text,
                const ThoughtPassOptions& options)
      : model_(model),
        layout_(model.layout()),
        parameters_(parameters),
        text_(text),
        options_(options),
        tokens_(text.tokens.begin(), text.tokens.end()),
        count_(static_cast<int64_t>(tokens_.size())),
        width_(model.config().hidden_size),
        base_(ReferenceForward(model.config(), layout_, parameters, tokens_, 1.0)) {}

  ReferenceScores Scores() {
    for (int64_t s = 0; s + 1 < count_; ++s) {
      const std::vector<double> logprob_V = RowOf(base_.logprob_TV, s, model_.config().vocab_size);
      scores_.base_logprob_S.push_back(logprob_V[tokens_[s + 1]]);
      scores_.base_entropy_S.push_back(Entropy(logprob_V));
    }
    for (const Thought& thought : text_.thoughts) AddThought(thought);
    int64_t last = -1;
    for (size_t k = 0; k < own_K_.size(); ++k) {
      const int64_t position = text_.thoughts[k].position;
      for (int64_t j = 0; j < TokensAhead(position, count_, options_.tokens_ahead); ++j) AddMixture(k, j);
      if (position == last || !model_.heads().has_values()) continue;
      last = position;
      const int layers = static_cast<int>(model_.heads().shape().value_hidden.size()) + 1;
      scores_.value_M.push_back(
          Perceptron(layout_, parameters_, "value_head", layers, RowOf(base_.hidden_TD, position, width_)));
    }
    return scores_;
  }

 private:
  // A thought's sequence: its hidden states, and the row of its end token.
  struct Own {
    std::vector<double> hidden_TD;
    int64_t end = 0;
  };

  void AddThought(const Thought& thought) {
    const int64_t ahead = TokensAhead(thought.position, count_, options_.tokens_ahead), start = thought.position + 1;
    std::vector<int32_t> whole(tokens_.begin(), tokens_.begin() + start);
    whole.push_back(options_.delimiters.start);
    whole.insert(whole.end(), thought.tokens.begin(), thought.tokens.end());
    whole.push_back(options_.delimiters.end);
    const int64_t end = static_cast<int64_t>(whole.size()) - 1;
    whole.insert(whole.end(), tokens_.begin() + start, tokens_.begin() + start + ahead - 1);
    const ReferenceOutput out =
        ReferenceForward(model_.config(), layout_, parameters_, whole, static_cast<double>(options_.temperature));
    own_K_.push_back({out.hidden_TD, end});
    std::vector<double> mean(static_cast<size_t>(width_));
    for (size_t i = 0; i < thought.tokens.size(); ++i) {
      const int64_t before = start + static_cast<int64_t>(i);
      const std::vector<double> logprob_V = RowOf(out.logprob_TV, before, model_.config().vocab_size),
                                row = RowOf(out.hidden_TD, before + 1, width_);
      scores_.logprob_T.push_back(logprob_V[thought.tokens[i]]);
      scores_.entropy_T.push_back(Entropy(logprob_V));
      for (size_t d = 0; d < mean.size(); ++d) mean[d] += row[d] / static_cast<double>(thought.tokens.size());
    }
    if (!model_.heads().is_joint()) return;
    const std::vector<double> h = RowOf(base_.hidden_TD, thought.position, width_);
    scores_.coherence_K.push_back(CoherenceOf(layout_, parameters_, h, mean));
  }

  // The mixture with thought k, j tokens behind its position.
  void AddMixture(size_t k, int64_t j) {
    const int64_t position = text_.thoughts[k].position;
    double weight = 0;
    const std::vector<double> h = RowOf(base_.hidden_TD, position + j, width_);
    const std::vector<double> mixed =
        model_.heads().is_joint() ? MixAll(position, j, h, &weight) : MixOne(RowBehind(k, j), h, &weight);
    const ParameterSpec& head = layout_.specs[layout_.lm_head];
    const std::vector<double> logprob_V = LogSoftmax(Multiply(parameters_, head, mixed));
    scores_.weight_A.push_back(weight);
    scores_.mixed_logprob_A.push_back(logprob_V[tokens_[position + 1 + j]]);
    scores_.mixed_entropy_A.push_back(Entropy(logprob_V));
  }

  std::vector<double> RowBehind(size_t k, int64_t j) const {
    return RowOf(own_K_[k].hidden_TD, own_K_[k].end + j, width_);
  }

  std::vector<double> MixAll(int64_t position, int64_t j, const std::vector<double>& h, double* weight) const {
    std::vector<std::vector<double>> others;
    std::vector<double> coherence;
    for (size_t i = 0; i < own_K_.size(); ++i) {
      if (text_.thoughts[i].position != position) continue;
      others.push_back(RowBehind(i, j));
      coherence.push_back(scores_.coherence_K[i]);
    }
    return Attend(layout_, parameters_, model_.heads().attention_heads(), h, others, coherence, weight);
  }

  std::vector<double> MixOne(const std::vector<double>& other, const std::vector<double>& h, double* weight) const {
    std::vector<double> pair = h, mixed;
    pair.insert(pair.end(), other.begin(), other.end());
    *weight = Perceptron(layout_, parameters_, "mixing_head", 3, pair);
    if (model_.heads().shape().bounded) *weight = Logistic(*weight);
    for (size_t d = 0; d < h.size(); ++d) mixed.push_back((1 - *weight) * h[d] + *weight * other[d]);
    return mixed;
  }

  const ThoughtModel& model_;
  const DecoderLayout& layout_;
  const std::vector<double>& parameters_;
  const ThoughtfulText& text_;
  const ThoughtPassOptions& options_;
  const std::vector<int32_t> tokens_;
  const int64_t count_, width_;
  const ReferenceOutput base_;
  std::vector<Own> own_K_;
  ReferenceScores scores_;
};

}  // namespace

ReferenceScores ReferenceScoresOf(const ThoughtModel& model, const std::vector<double>& parameters,
                                  const ThoughtfulText& text, const ThoughtPassOptions& options) {
  return ReferenceText(model, parameters, text, options).Scores();
}

}  // namespace reprise::models::testing
