#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "core/testing/sanitizers.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "models/generation/ask_pool.h"
#include "models/generation/generate.h"

namespace reprise::models {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;
using testing::RandomModel;
using testing::RandomTokens;
using testing::SmallConfig;

// A partner whose observation depends on the whole action: its tokens, and one more. It ends the episode after an
// action that ends with 9. An action is complete at token 7.
class Echo : public Partner {
 public:
  bool CompletesAction(absl::Span<const int32_t> action) const override { return action.back() == 7; }

  absl::StatusOr<std::optional<std::vector<int32_t>>> Answer(int64_t episode, absl::Span<const int32_t> action,
                                                             bool complete) override {
    ++asked;
    const int now = ++at_once;
    for (int most = most_at_once; now > most && !most_at_once.compare_exchange_weak(most, now);) continue;
    // Sleeps for a time that depends on the episode, so that answers arrive in any order.
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds * (1 + episode % 3)));
    --at_once;
    if (failing.contains(episode)) return absl::DataLossError("episode " + std::to_string(episode));
    if (action.back() == 9) return std::nullopt;
    std::vector<int32_t> observation(action.begin(), action.end());
    observation.push_back(complete ? 2 : 3);
    return observation;
  }

  std::set<int64_t> failing;
  std::atomic<int> asked = 0, at_once = 0, most_at_once = 0;
  int milliseconds = 0;
};

struct Fixture {
  DecoderConfig config = SmallConfig();
  std::unique_ptr<Model> model = RandomModel(config, 3);
  std::vector<std::vector<int32_t>> tokens;
  std::vector<Prompt> prompts;
  GenerateOptions options;
  Echo partner;

  Fixture() {
    for (uint64_t p = 0; p < 5; ++p) tokens.push_back(RandomTokens(config, 20 + p, 3 + static_cast<int64_t>(p)));
    for (size_t p = 0; p < tokens.size(); ++p) prompts.push_back({tokens[p], p});
    options.num_generations = 4;
    options.max_completion_length = 24;
    options.max_action_length = 5;
    options.end_tokens = {1, 5, 9, 12};
    options.sampling.temperature = 0.8f;
    options.seed = 77;
    options.step = 2;
  }

  absl::StatusOr<GenerateResult> Run(int threads) {
    ThreadPool pool(threads);
    return GenerateEpisodes(model->decoder(), prompts, options, partner, pool);
  }
};

TEST(GenerateEpisodesTest, GivesTheSameBitsForAnyNumberOfSlotsAndThreads) {
  Fixture fixture;
  ASSERT_OK_AND_ASSIGN(const GenerateResult all_at_once, fixture.Run(1));
  size_t most_turns = 0;
  for (const SampledCompletion& episode : all_at_once.completions)
    most_turns = std::max(most_turns, episode.turn_K.size());
  EXPECT_GE(most_turns, 3u);
  for (int threads : {1, 2, 3}) {
    for (int64_t slots : {1, 3, 7, 100}) {
      fixture.options.slots = slots;
      fixture.options.own_cache_bytes = slots == 7 ? 0 : int64_t{1} << 30;  // threads decode together, or alone
      ASSERT_OK_AND_ASSIGN(const GenerateResult result, fixture.Run(threads));
      for (size_t i = 0; i < result.completions.size(); ++i) {
        EXPECT_EQ(result.completions[i].tokens, all_at_once.completions[i].tokens) << i;
        EXPECT_EQ(result.completions[i].logprobs, all_at_once.completions[i].logprobs) << i;
        EXPECT_EQ(result.completions[i].turn_K, all_at_once.completions[i].turn_K) << i;
      }
      EXPECT_EQ(result.expert_count_LE, all_at_once.expert_count_LE);
      EXPECT_EQ(result.completion_rows, all_at_once.completion_rows);
    }
  }
}

TEST(GenerateEpisodesTest, GivesTheSameBitsForAnyNumberOfPendingAnswers) {
  Fixture fixture;
  ASSERT_OK_AND_ASSIGN(const GenerateResult expected, fixture.Run(1));
  EXPECT_EQ(fixture.partner.most_at_once, 1);
  fixture.partner.milliseconds = 1;
  for (int threads : {1, 3}) {
    for (int64_t askers : {1, 4}) {
      for (int64_t slots : {0, 3}) {
        fixture.options.slots = slots;
        fixture.options.askers = askers;
        fixture.partner.most_at_once = 0;
        ASSERT_OK_AND_ASSIGN(const GenerateResult result, fixture.Run(threads));
        EXPECT_LE(fixture.partner.most_at_once, askers);
        EXPECT_GE(fixture.partner.most_at_once, std::min<int64_t>(askers, 2));
        for (size_t i = 0; i < result.completions.size(); ++i) {
          EXPECT_EQ(result.completions[i].tokens, expected.completions[i].tokens) << i;
          EXPECT_EQ(result.completions[i].logprobs, expected.completions[i].logprobs) << i;
        }
        EXPECT_EQ(result.expert_count_LE, expected.expert_count_LE);
        EXPECT_EQ(result.completion_rows, expected.completion_rows);
      }
    }
  }
}

TEST(GenerateEpisodesTest, EndsWhenItIsCancelled) {
  Fixture fixture;
  fixture.options.askers = 2;
  fixture.options.is_cancelled = [&] { return fixture.partner.asked > 3; };
  fixture.partner.milliseconds = 60;
  for (int threads : {1, 3}) {
    fixture.partner.asked = 0;
    EXPECT_EQ(fixture.Run(threads).status().code(), absl::StatusCode::kCancelled);
    EXPECT_LT(fixture.partner.asked, 10);
  }
}

TEST(GenerateEpisodesTest, AppendsObservationsBetweenActionsThatEndByThemselvesOrAtTheirLength) {
  Fixture fixture;
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, fixture.Run(2));
  bool some_cut = false, some_goodbye = false;
  for (const SampledCompletion& episode : result.completions) {
    size_t at = 0;
    for (size_t k = 0; k < episode.turn_K.size(); ++k) {
      const SampledTurn& turn = episode.turn_K[k];
      if (k > 0) {
        const SampledTurn& before = episode.turn_K[k - 1];
        ASSERT_EQ(turn.observation_tokens, before.action_tokens + 1);
        for (int64_t i = 0; i < before.action_tokens; ++i) {
          EXPECT_EQ(episode.tokens[at + static_cast<size_t>(i)],
                    episode.tokens[at - static_cast<size_t>(before.action_tokens - i)]);
        }
      } else {
        EXPECT_EQ(turn.observation_tokens, 0);
      }
      for (int64_t i = 0; i < turn.observation_tokens; ++i)
        EXPECT_EQ(episode.logprobs[at + static_cast<size_t>(i)], 0.0f);
      at += static_cast<size_t>(turn.observation_tokens + turn.action_tokens);
      EXPECT_LE(turn.action_tokens, fixture.options.max_action_length);
      some_cut |= !turn.complete && turn.action_tokens == fixture.options.max_action_length;
    }
    ASSERT_EQ(at, episode.tokens.size());
    EXPECT_LE(at, 24u);
    some_goodbye |= episode.tokens.back() == 9;
  }
  EXPECT_TRUE(some_cut && some_goodbye);
}

TEST(GenerateEpisodesTest, ComputesEachRowOfAnEpisodeOnce) {
  Fixture fixture;
  ASSERT_OK_AND_ASSIGN(const GenerateResult result, fixture.Run(2));
  int64_t rows = 0;
  for (const SampledCompletion& episode : result.completions) rows += static_cast<int64_t>(episode.tokens.size()) - 1;
  EXPECT_EQ(result.completion_rows, rows);
}

TEST(GenerateEpisodesTest, DrawsTheTokensOfATurnIndependentlyOfItsPositionInTheEpisode) {
  Fixture fixture;
  fixture.options.max_action_length = 0;
  ASSERT_OK_AND_ASSIGN(const GenerateResult free, fixture.Run(1));
  const GenerateResult alone = [&] {
    ThreadPool pool(1);
    return Generate(fixture.model->decoder(), fixture.prompts, fixture.options, pool);
  }();
  // The first turn of an episode equals the completion without a partner, up to the end of the turn.
  for (size_t i = 0; i < free.completions.size(); ++i) {
    const size_t first = static_cast<size_t>(free.completions[i].turn_K[0].action_tokens);
    ASSERT_GE(alone.completions[i].tokens.size(), first);
    for (size_t t = 0; t < first; ++t) EXPECT_EQ(alone.completions[i].tokens[t], free.completions[i].tokens[t]);
  }
}

TEST(GenerateEpisodesTest, EndsWithTheErrorOfThePartner) {
  Fixture fixture;
  fixture.partner.failing = {11};
  for (int threads : {1, 3}) {
    EXPECT_THAT(fixture.Run(threads), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("episode 11")));
  }
  // The error cancels the answers of other episodes, which are not reported as its cause even if they precede it.
  fixture.partner.failing = {19};
  fixture.partner.milliseconds = 1;
  fixture.options.askers = 1;
  for (int threads : {1, 3}) {
    EXPECT_THAT(fixture.Run(threads), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("episode 19")));
  }
}

// Waits until two episodes have called it, and then returns an error to both.
class Quarrel : public Echo {
 public:
  absl::StatusOr<std::optional<std::vector<int32_t>>> Answer(int64_t episode, absl::Span<const int32_t>,
                                                             bool) override {
    ++asked;
    while (asked < 2) std::this_thread::yield();
    return absl::DataLossError("episode " + std::to_string(episode));
  }
};

TEST(GenerateEpisodesTest, ReturnsTheErrorOfTheFirstFailedEpisode) {
  Fixture fixture;
  fixture.prompts.resize(2);
  fixture.options.num_generations = 1;
  for (int run = 0; run < 5; ++run) {
    Quarrel quarrel;
    ThreadPool pool(2);
    EXPECT_THAT(GenerateEpisodes(fixture.model->decoder(), fixture.prompts, fixture.options, quarrel, pool),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("episode 0")));
  }
}

TEST(GenerateEpisodesTest, DoesNotCallThePartnerAfterAnError) {
  Fixture fixture;
  for (int64_t episode = 0; episode < 20; ++episode) fixture.partner.failing.insert(episode);
  for (int threads : {1, 3}) {
    for (int64_t slots : {0, 3}) {
      fixture.options.slots = slots;
      for (int64_t askers : {0, 2}) {
        fixture.options.askers = askers;
        fixture.partner.asked = 0;
        EXPECT_EQ(fixture.Run(threads).status().code(), absl::StatusCode::kDataLoss);
        EXPECT_LE(fixture.partner.asked, threads + askers);
      }
    }
  }
}

TEST(AskPoolTest, ReportsThatTheSystemCannotStartMoreThreads) {
  if (reprise::testing::kHasShadowMemory) GTEST_SKIP() << "the sanitizer needs the address space that this limits";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {.rlim_cur = rlim_t{1} << 30, .rlim_max = rlim_t{1} << 30};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    const absl::Status status = AskPool::Create(1024).status();
    const bool said = absl::IsResourceExhausted(status) &&
                      absl::StrContains(status.message(), " of the 1024 threads that wait for the external process");
    _exit(said && AskPool::Create(4).ok() ? 0 : 1);  // those that were started have ended
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace reprise::models
