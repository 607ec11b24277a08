// Compares log-probabilities of completions with the reference, computed in both ways: by the trainer, where
// completions share their prompt's rows, and by the sampler, which appends rows to caches. Both give the same bits.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "models/decoder/inference.h"
#include "models/generation/generate.h"
#include "rl/policy/decoder/shard_gradient.h"
#include "tests/golden/golden_model.h"

namespace reprise::golden {
namespace {

using LogProbs = std::vector<std::vector<float>>;  // by completion, by token

constexpr double kToken = 1e-5;

// A prompt and its completion, of each row of completion_ids.
struct Pairs {
  explicit Pairs(const Vectors& vectors) {
    const int64_t rows = vectors.FindShape("completion_ids")[0];
    const size_t length = static_cast<size_t>(vectors.Integers("completion_prompt_len")[0]);
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<int32_t> tokens = vectors.Tokens("completion_ids", row);
      prompts.emplace_back(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length));
      completions.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(length), tokens.end());
    }
  }
  std::vector<std::vector<int32_t>> prompts, completions;
};

// Returns the trainer's log-probabilities of the completions of all groups, in order.
LogProbs TrainerLogProbs(const models::Model& model, const std::vector<rl::TrainingGroup>& groups, float temperature) {
  LogProbs logprobs;
  rl::ShardWorkspace workspace(model.config());
  std::vector<float> total(static_cast<size_t>(model.layout().total));
  models::ShardGradient gradient;
  models::StartShard(model.config(), model.layout(), total.data(), nullptr, &gradient);
  const rl::CompletionLoss loss = [&](int64_t, int64_t, const rl::DecisionScores& scores,
                                      const rl::DecisionGradients&) {
    logprobs.emplace_back(scores.logprob_T.begin(), scores.logprob_T.end());
    return absl::OkStatus();
  };
  EXPECT_OK(rl::AccumulateShard(model.decoder(), groups, {.temperature = temperature}, loss, &workspace, &gradient));
  return logprobs;
}

// Returns the trainer's log-probabilities of each completion three times in one group, the second time truncated:
// completions must not attend to each other.
LogProbs SharedPromptLogProbs(const models::Model& model, const Pairs& pairs, float temperature) {
  std::vector<rl::TrainingGroup> groups;
  for (size_t i = 0; i < pairs.prompts.size(); ++i) {
    const absl::Span<const int32_t> completion = pairs.completions[i];
    groups.push_back({pairs.prompts[i], {completion, completion.first((completion.size() + 1) / 2), completion}});
  }
  return TrainerLogProbs(model, groups, temperature);
}

// Returns the sampler's log-probabilities: prompts in one prefill, then one token of each completion at a time.
LogProbs CachedLogProbs(const models::Model& model, const Pairs& pairs, float temperature) {
  const size_t count = pairs.prompts.size(), length = pairs.completions[0].size();
  LogProbs logprobs(count);
  std::vector<std::unique_ptr<models::KeyValueCache>> prefixes, caches;
  models::Activations workspace(model.config(), /*training=*/false);
  models::ScoreBuffers buffers;
  for (size_t t = 0; t < length; ++t) {
    models::CachedBatch batch;
    models::ScoredRows scored;
    for (size_t i = 0; i < count; ++i) {
      const int64_t prompt = static_cast<int64_t>(pairs.prompts[i].size()), begin = batch.rows.rows();
      if (t == 0) {
        prefixes.push_back(std::make_unique<models::KeyValueCache>(model.config(), prompt));
        caches.push_back(std::make_unique<models::KeyValueCache>(model.config(), static_cast<int64_t>(length)));
        batch.runs.push_back({begin, prompt, prefixes[i].get(), nullptr});
        batch.rows.token_T.insert(batch.rows.token_T.end(), pairs.prompts[i].begin(), pairs.prompts[i].end());
        for (int64_t p = 0; p < prompt; ++p) batch.rows.position_T.push_back(static_cast<int32_t>(p));
      } else {
        batch.runs.push_back({begin, 1, caches[i].get(), prefixes[i].get()});
        batch.rows.token_T.push_back(pairs.completions[i][t - 1]);
        batch.rows.position_T.push_back(static_cast<int32_t>(prompt + static_cast<int64_t>(t) - 1));
      }
      scored.Add(batch.rows.rows() - 1, &pairs.completions[i][t], 1);
    }
    models::ForwardCached(model.decoder(), batch, &workspace, nullptr);
    models::ScoreForward(model.decoder(), workspace, scored, temperature, &buffers);
    for (size_t i = 0; i < count; ++i) logprobs[i].push_back(buffers.logprob[i]);
  }
  return logprobs;
}

void CompareCompletions(const Vectors& vectors, const std::string& kind, const std::string& name, size_t row,
                        const std::vector<float>& ours, Errors* errors) {
  const std::vector<double> golden = vectors.Doubles(name);
  const size_t columns = static_cast<size_t>(vectors.FindShape(name)[1]);
  for (size_t t = 0; t < ours.size(); ++t) {
    errors->Compare(kind, ours[t], golden[row * columns + t], kToken, absl::StrCat(name, "[", row, ",", t, "]"));
  }
}

Errors CompletionErrors(const models::Model& model, const Vectors& vectors) {
  Errors errors;
  const Pairs pairs(vectors);
  for (const auto& [name, temperature] :
       {std::pair("f64.completion_logprob_T1", 1.0f), {"f64.completion_logprob_T07", 0.7f}}) {
    const LogProbs shared = SharedPromptLogProbs(model, pairs, temperature);
    const LogProbs cached = CachedLogProbs(model, pairs, temperature);
    for (size_t i = 0; i < shared.size(); ++i) {
      const size_t row = i / 3;
      CompareCompletions(vectors, "trainer, shared prompt", name, row, shared[i], &errors);
      for (size_t t = 0; t < shared[i].size(); ++t) {
        errors.CompareExactly("trainer equals sampler, bitwise", shared[i][t] == cached[row][t],
                              absl::StrCat(name, "[", row, ",", t, "]"));
      }
    }
    for (size_t i = 0; i < cached.size(); ++i) {
      CompareCompletions(vectors, "sampler, cached keys", name, i, cached[i], &errors);
    }
  }
  return errors;
}

using CompletionGoldenTest = GoldenModelTest;
INSTANTIATE_ON_GOLDEN_MODELS(CompletionGoldenTest);

TEST_P(CompletionGoldenTest, EqualsTheReferenceInTrainerAndSampler) {
  ExpectWithin(CompletionErrors(*model_, *vectors_));
}

TEST_P(CompletionGoldenTest, DetectsAnErrorOfOnePercentInTheWeights) {
  Perturb(0.01, model_.get());
  const Errors errors = CompletionErrors(*model_, *vectors_);
  EXPECT_FALSE(errors.Within("trainer, shared prompt")) << errors.ToString();
  EXPECT_FALSE(errors.Within("sampler, cached keys")) << errors.ToString();
}

TEST_P(CompletionGoldenTest, SampledLogProbsEqualTheTrainersBitForBit) {
  constexpr int64_t kGenerations = 3;
  const Pairs pairs(*vectors_);
  std::vector<models::Prompt> prompts;
  for (size_t p = 0; p < pairs.prompts.size(); ++p) prompts.push_back({pairs.prompts[p], p});
  for (float temperature : {1.0f, 0.7f}) {
    models::GenerateOptions options;
    options.num_generations = kGenerations;
    options.max_completion_length = 16;
    options.end_tokens = model_->config().eos_token_id;
    options.sampling.temperature = temperature;
    options.slots = 5;
    options.seed = 9;
    ThreadPool pool(2);
    const models::GenerateResult sampled = models::Generate(decoder(), prompts, options, pool);
    std::vector<rl::TrainingGroup> groups;
    for (const auto& prompt : pairs.prompts) {
      groups.push_back({prompt, {}});
      for (int64_t g = 0; g < kGenerations; ++g) {
        const size_t at = (groups.size() - 1) * kGenerations + static_cast<size_t>(g);
        groups.back().completion_G.push_back(sampled.completions[at].tokens);
      }
    }
    const LogProbs trained = TrainerLogProbs(*model_, groups, temperature);
    ASSERT_EQ(trained.size(), sampled.completions.size());
    for (size_t i = 0; i < trained.size(); ++i) EXPECT_EQ(trained[i], sampled.completions[i].logprobs) << i;
  }
}

}  // namespace
}  // namespace reprise::golden
