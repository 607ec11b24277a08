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
    if (!spec.name.starts_with("mixing_head") && !spec.name.starts_with("value_head")) continue;
    for (int64_t i = 0; i < spec.size; ++i) {
      const double u = DrawUniform(seed, Purpose::kTest,
                                   {.step = static_cast<uint64_t>(spec.offset), .token = static_cast<uint64_t>(i)});
      model->mutable_parameters()[static_cast<size_t>(spec.offset + i)] = static_cast<float>(0.6 * (u - 0.5));
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

ReferenceScores ReferenceScoresOf(const ThoughtModel& model, const std::vector<double>& parameters,
                                  const ThoughtfulText& text, const ThoughtPassOptions& options) {
  const DecoderConfig& config = model.config();
  const DecoderLayout& layout = model.layout();
  const ParameterSpec& head = layout.specs[static_cast<size_t>(layout.lm_head)];
  const int64_t width = config.hidden_size, vocabulary = config.vocab_size;
  const std::vector<int32_t> tokens(text.tokens.begin(), text.tokens.end());
  const int64_t count = static_cast<int64_t>(tokens.size());
  const ReferenceOutput base = ReferenceForward(config, layout, parameters, tokens, 1.0);
  ReferenceScores scores;
  for (int64_t s = 0; s + 1 < count; ++s) {
    const std::vector<double> logprob_V = RowOf(base.logprob_TV, s, vocabulary);
    scores.base_logprob_S.push_back(logprob_V[static_cast<size_t>(tokens[static_cast<size_t>(s + 1)])]);
    scores.base_entropy_S.push_back(Entropy(logprob_V));
  }
  int64_t last = -1;
  for (const Thought& thought : text.thoughts) {
    const int64_t ahead = TokensAhead(thought.position, count, options.tokens_ahead), start = thought.position + 1;
    std::vector<int32_t> whole(tokens.begin(), tokens.begin() + start);
    whole.push_back(options.delimiters.start);
    whole.insert(whole.end(), thought.tokens.begin(), thought.tokens.end());
    whole.push_back(options.delimiters.end);
    const int64_t end = static_cast<int64_t>(whole.size()) - 1;
    whole.insert(whole.end(), tokens.begin() + start, tokens.begin() + start + ahead - 1);
    const ReferenceOutput out =
        ReferenceForward(config, layout, parameters, whole, static_cast<double>(options.temperature));
    for (size_t i = 0; i < thought.tokens.size(); ++i) {
      const std::vector<double> logprob_V = RowOf(out.logprob_TV, start + static_cast<int64_t>(i), vocabulary);
      scores.logprob_T.push_back(logprob_V[static_cast<size_t>(thought.tokens[i])]);
      scores.entropy_T.push_back(Entropy(logprob_V));
    }
    for (int64_t j = 0; j < ahead; ++j) {
      const std::vector<double> h = RowOf(base.hidden_TD, thought.position + j, width),
                                other = RowOf(out.hidden_TD, end + j, width);
      std::vector<double> pair = h, mixed;
      pair.insert(pair.end(), other.begin(), other.end());
      double weight = Perceptron(layout, parameters, "mixing_head", 3, pair);
      if (model.heads().shape().bounded) weight = 1 / (1 + std::exp(-weight));
      for (size_t d = 0; d < h.size(); ++d) mixed.push_back((1 - weight) * h[d] + weight * other[d]);
      const std::vector<double> logprob_V = LogSoftmax(Multiply(parameters, head, mixed));
      scores.weight_A.push_back(weight);
      scores.mixed_logprob_A.push_back(logprob_V[static_cast<size_t>(tokens[static_cast<size_t>(start + j)])]);
      scores.mixed_entropy_A.push_back(Entropy(logprob_V));
    }
    if (thought.position == last || !model.heads().has_values()) continue;
    last = thought.position;
    const int layers = static_cast<int>(model.heads().shape().value_hidden.size()) + 1;
    scores.value_M.push_back(
        Perceptron(layout, parameters, "value_head", layers, RowOf(base.hidden_TD, thought.position, width)));
  }
  return scores;
}

}  // namespace reprise::models::testing
