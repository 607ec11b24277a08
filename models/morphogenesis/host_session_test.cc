// Sessions as a controller uses them. docs/morphogenesis.md lists what esper-lite, the prototype, gets wrong, and which
// tests hold what is right.

#include "models/morphogenesis/host_session.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/testing/sanitizers.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/isa/isa.h"
#include "models/morphogenesis/network_session.h"
#include "models/morphogenesis/small_episode.h"
#include "models/morphogenesis/small_examples.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using testing::DigestOfState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Play;
using testing::PlayedEpisode;
using testing::SmallEpisode;
using testing::SmallExamples;
using testing::SmallImageTask;
using testing::SmallTokenTask;

std::vector<TensorView> ViewsOf(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

std::unique_ptr<HostSession> NewSession(const HostTask& task = SmallImageTask()) {
  return *HostSession::Create({.task = task}, {.seed = 11});
}

bool Fossilised(const PlayedEpisode& played) {
  return std::any_of(played.events.begin(), played.events.end(),
                     [](const SlotEvent& e) { return e.kind == SlotEventKind::kFossilized; });
}

// C11.1: the original never computes the ratio of gradients, so that G2 never passes, nor the counterfactual, so that
// G5 never passes. C11.2: and its slot is never free again.
TEST(HostSessionTest, ARealEpisodePassesG2AndG5AndUsesTheSlotAgain) {
  const PlayedEpisode played = Play({.task = SmallImageTask(), .blueprints = {"conv_light", "norm"}});
  EXPECT_TRUE(Fossilised(played)) << ::testing::PrintToString(played.accuracies)
                                  << ::testing::PrintToString(played.contributions);
  ASSERT_FALSE(played.contributions.empty());
  const HostSession& session = *played.session;
  EXPECT_THAT(session.fossils(), ElementsAre("conv_light"));
  EXPECT_EQ(session.fossil_params(), 9 * 8 * 8 + 2 * 8);
  ASSERT_NE(session.seed(), nullptr);
  EXPECT_EQ(session.seed()->blueprint_id, "norm");
  EXPECT_EQ(session.active_seed_params(), 2 * 8 + 1);
  EXPECT_GT(*std::max_element(played.gradient_ratios.begin(), played.gradient_ratios.end()), 0.05);
  EXPECT_GT(*std::max_element(played.contributions.begin(), played.contributions.end()), 0);
  EXPECT_GT(played.accuracies.back(), 50) << "of four classes";
}

TEST(HostSessionTest, ATransformerLearnsAndGrowsToo) {
  const PlayedEpisode played = Play({.task = SmallTokenTask(), .blueprints = {"mlp"}});
  EXPECT_GT(played.accuracies.back(), played.accuracies.front() + 5);
  EXPECT_FALSE(played.contributions.empty());
}

TEST(HostSessionTest, EveryBatchIsReported) {
  const SmallExamples examples(SmallImageTask(), 1, 3, 8);
  int batches = 0;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<HostSession> session,
                       HostSession::Create({.task = SmallImageTask(), .on_batch = [&batches] { ++batches; }}, {}));
  ASSERT_OK(session->TrainOneEpoch(examples.batches()));
  EXPECT_EQ(batches, 3);
  ASSERT_OK(session->Evaluate(examples.batches()));
  EXPECT_EQ(batches, 6);
}

TEST(HostSessionTest, EvaluatingChangesNothing) {
  const SmallExamples examples(SmallImageTask(), 1, 2, 8);
  const std::unique_ptr<HostSession> session = NewSession();
  ASSERT_OK(session->Germinate("depthwise"));
  ASSERT_OK(session->TrainOneEpoch(examples.batches()));
  const std::string before = DigestOfState(*session);
  ASSERT_OK_AND_ASSIGN(const HostEvaluation plain, session->Evaluate(examples.batches()));
  ASSERT_OK_AND_ASSIGN(const HostEvaluation without, session->Evaluate(examples.batches(), 0.0));
  ASSERT_OK_AND_ASSIGN(const HostEvaluation with, session->Evaluate(examples.batches(), 1.0));
  EXPECT_EQ(plain.mean_loss, without.mean_loss);  // alpha is 0 in TRAINING
  EXPECT_NE(plain.mean_loss, with.mean_loss);
  EXPECT_EQ(DigestOfState(*session), before);
  EXPECT_THAT(session->Evaluate(examples.batches(), 1.5),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1.5")));
}

// C11.6: the gain of the first epoch of training counts.
TEST(HostSessionTest, ASeedsBaselineIsTheAccuracyAtItsGermination) {
  const std::unique_ptr<HostSession> session = NewSession();
  session->RecordAccuracy(40);
  ASSERT_OK(session->Germinate("norm"));
  EXPECT_EQ(session->seed()->metrics.initial_val_accuracy, 40);
  ASSERT_OK(session->TrainOneEpoch({}));
  session->RecordAccuracy(47);
  EXPECT_EQ(session->seed()->metrics.ImprovementSinceStageStart(), 7);
}

// Plays an episode of which each epoch is played by a new session, restored from the state of the one before.
void ExpectRestoredSessionsGoOn(SmallEpisode episode) {
  const std::string digest = Play(episode).digest;
  episode.before_epoch = [&episode](int, std::unique_ptr<HostSession>* session) {
    const std::vector<Tensor> state = (*session)->State();
    std::unique_ptr<HostSession> other = *HostSession::Create({.task = episode.task}, episode.coordinates);
    ASSERT_OK(other->Load(ViewsOf(state)));
    *session = std::move(other);
  };
  EXPECT_EQ(Play(episode).digest, digest);
}

// C11.17: in the original a state with a live seed cannot be loaded, because the seed has to be built first.
TEST(HostSessionTest, ARestoredSessionGoesOnWithTheSameBitsAtAnyEpoch) {
  ExpectRestoredSessionsGoOn({.task = SmallImageTask(), .blueprints = {"conv_heavy", "attention"}});
  ExpectRestoredSessionsGoOn({.task = SmallImageTask(), .blueprints = {"norm", "norm"}, .epochs = 12, .cull_at = 3});
  ExpectRestoredSessionsGoOn({.task = SmallTokenTask(), .blueprints = {"attention"}, .epochs = 8});
}

TEST(HostSessionTest, SessionsOnSeveralThreadsHaveTheBitsOfThoseAlone) {
  ASSERT_OK(kernels::InitializeIsa());
  std::vector<SmallEpisode> episodes;
  for (uint64_t i = 0; i < 4; ++i) {
    SmallEpisode episode = {.task = i % 2 == 0 ? SmallImageTask() : SmallTokenTask(), .blueprints = {"norm"}};
    episode.epochs = 8;
    episode.coordinates.prompt = i;
    episodes.push_back(episode);
  }
  std::vector<std::string> alone(4), together(4);
  for (size_t i = 0; i < 4; ++i) alone[i] = Play(episodes[i]).digest;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { together[i] = Play(episodes[i]).digest; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
  EXPECT_NE(alone[0], alone[2]);  // another episode
}

// The kernels' instruction set affects no bit; those of LibTorch, MKL and oneDNN are tried by instruction_sets_test.
TEST(HostSessionTest, InstructionSetsOfTheKernelsHaveTheSameBits) {
  for (const HostTask& task : {SmallImageTask(), SmallTokenTask()}) {
    std::vector<std::string> digests;
    for (const kernels::Isa isa : kernels::AvailableIsas()) {
      kernels::SetIsaForTest(isa);
      digests.push_back(Play({.task = task, .blueprints = {"attention"}, .epochs = 10}).digest);
    }
    for (const std::string& digest : digests) EXPECT_EQ(digest, digests[0]);
  }
}

// C11.16: the original cannot restore a snapshot from before a fossilisation.
TEST(HostSessionTest, RollbackUndoesWhatHappenedSinceTheSnapshotEvenAFossil) {
  const SmallExamples examples(SmallImageTask(), 1, 6, 16);
  std::shared_ptr<const HostSnapshot> snapshot;
  std::string weights;
  SmallEpisode episode = {.task = SmallImageTask(), .blueprints = {"conv_light", "depthwise"}};
  episode.before_epoch = [&](int epoch, std::unique_ptr<HostSession>* session) {
    if (epoch == 1) snapshot = *(*session)->TakeSnapshot();
  };
  const PlayedEpisode played = Play(episode);
  HostSession& session = *played.session;
  ASSERT_FALSE(session.fossils().empty());
  ASSERT_NE(session.seed(), nullptr);
  ASSERT_OK(session.Rollback(*snapshot, "governor_nan"));
  EXPECT_EQ(session.seed(), nullptr);
  EXPECT_THAT(session.fossils(), IsEmpty());
  EXPECT_EQ(session.fossil_params(), 0);
  EXPECT_EQ(session.epochs(), 25);
  EXPECT_EQ(session.TakeEvents().back().reason, "governor_nan");
  const std::unique_ptr<HostSession> fresh = *HostSession::Create({.task = episode.task}, episode.coordinates);
  const std::vector<Tensor> now = session.Weights(), then = fresh->Weights();
  ASSERT_EQ(now.size(), then.size());
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_TRUE(std::equal(now[i].bytes().begin(), now[i].bytes().end(), then[i].bytes().begin())) << now[i].name();
  }
  EXPECT_OK(session.TrainOneEpoch(examples.batches()));
}

TEST(HostSessionTest, RefusesASnapshotOfAnotherShape) {
  HostTask other = SmallImageTask();
  other.shape.cnn.base_channels = 5;
  EXPECT_THAT(NewSession()->Rollback(**NewSession(other)->TakeSnapshot(), "x"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another shape")));
}

// C11.7, and the governor's case: numbers that are not finite are no error, and show.
TEST(HostSessionTest, NumbersThatAreNotFiniteShowInLossesAndHealth) {
  const SmallExamples examples(SmallImageTask(), 1, 1, 8);
  std::vector<float> pixels(examples.batches()[0].images_BHWC.begin(), examples.batches()[0].images_BHWC.end());
  pixels[100] = std::numeric_limits<float>::quiet_NaN();
  HostBatch bad = examples.batches()[0];
  bad.images_BHWC = pixels;
  const std::unique_ptr<HostSession> session = NewSession();
  const std::shared_ptr<const HostSnapshot> snapshot = *session->TakeSnapshot();
  ASSERT_OK(session->Germinate("conv_light"));
  ASSERT_OK_AND_ASSIGN(const EpochTraining trained, session->TrainOneEpoch({bad}));
  EXPECT_FALSE(std::isfinite(trained.loss_sum));
  ASSERT_TRUE(trained.gradients.has_value());
  EXPECT_EQ(trained.gradients->gradient_health, 0);
  EXPECT_FALSE(session->seed()->is_healthy);
  EXPECT_EQ(trained.seed_gradient_ratio, 0);
  ASSERT_OK(session->Rollback(*snapshot, "nan"));
  ASSERT_OK_AND_ASSIGN(const HostEvaluation after, session->Evaluate(examples.batches()));
  EXPECT_TRUE(std::isfinite(after.mean_loss));
}

TEST(HostSessionTest, SaysWhatItCannotCreate) {
  SessionOptions options = {.task = SmallImageTask()};
  options.slot_id = "block9_post";
  EXPECT_THAT(HostSession::Create(options, {}),
              StatusIs(absl::StatusCode::kNotFound,
                       std::string("Unknown slot 'block9_post'. Available: block2_post, block3_post")));
  options.slot_id = "block3_post";
  EXPECT_EQ((*HostSession::Create(options, {}))->slot_channels(), 16);
  EXPECT_THAT(HostSession::Create(options, {.sample = 1 << 16}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^16")));
  options.host_sgd.learning_rate = -1;
  EXPECT_THAT(HostSession::Create(options, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("host's learning")));
  options.host_sgd.learning_rate = 0.1;
  options.task.shape.cnn.num_blocks = 1;
  EXPECT_THAT(HostSession::Create(options, {}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("blocks is 1")));
}

TEST(HostSessionTest, SaysWhatItCannotGerminate) {
  const std::unique_ptr<HostSession> session = NewSession();
  EXPECT_THAT(session->Germinate("mlp"),
              StatusIs(absl::StatusCode::kNotFound,
                       std::string("Unknown blueprint 'mlp' for cnn. Available: norm, attention, depthwise, "
                                   "conv_light, conv_heavy")));
  ASSERT_OK(session->Germinate("norm", "mine"));
  EXPECT_EQ(session->seed()->seed_id, "mine");
  EXPECT_THAT(session->Germinate("norm"),
              StatusIs(absl::StatusCode::kFailedPrecondition, std::string("Slot block2_post already has active seed")));
  EXPECT_TRUE(session->Cull("x"));
  EXPECT_FALSE(session->Cull("x"));
}

TEST(HostSessionTest, LoadChangesNothingUnlessItSucceeds) {
  const SmallExamples examples(SmallImageTask(), 1, 2, 8);
  const std::unique_ptr<HostSession> source = NewSession(), target = NewSession();
  ASSERT_OK(source->Germinate("conv_light"));
  ASSERT_OK(source->TrainOneEpoch(examples.batches()));
  std::vector<Tensor> state = source->State();
  const std::string before = DigestOfState(*target);
  const auto load = [&](const std::vector<TensorView>& views) {
    const absl::Status status = target->Load(views);
    EXPECT_EQ(DigestOfState(*target), before);
    return status;
  };
  const std::vector<TensorView> good = ViewsOf(state);
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<TensorView> views = good;
    views.erase(views.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(load(views), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(good[i].name)));
    views = good;
    views[i].shape.push_back(1);
    EXPECT_THAT(load(views), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(good[i].name)));
    views = good;
    views.push_back(good[i]);
    EXPECT_THAT(load(views), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("two tensors")));
  }
  std::vector<TensorView> extra = good;
  extra.push_back(good[0]);
  extra.back().name = "surprise";
  EXPECT_THAT(load(extra), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'surprise' that is unknown")));
  for (Tensor& tensor : state) {
    if (tensor.name() != "seed.numbers") continue;
    tensor.mutable_data<double>()[0] = 11;  // no stage
    EXPECT_THAT(load(ViewsOf(state)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged")));
    tensor.mutable_data<double>()[0] = 3;
  }
  ASSERT_OK(target->Load(ViewsOf(state)));
  EXPECT_EQ(DigestOfState(*target), DigestOfState(*source));
}

// While it lives, the program gets no large blocks of memory.
class NoMoreMemory {
 public:
  NoMoreMemory() {
    getrlimit(RLIMIT_AS, &before_);
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(pages) * 4096;
    setrlimit(RLIMIT_AS, &now);
    // What malloc holds free would serve.
    while (void* const block = std::malloc(kLarge)) blocks_.push_back(block);
  }
  ~NoMoreMemory() {
    for (void* const block : blocks_) std::free(block);
    setrlimit(RLIMIT_AS, &before_);
  }
  NoMoreMemory(const NoMoreMemory&) = delete;
  NoMoreMemory& operator=(const NoMoreMemory&) = delete;

 private:
  static constexpr size_t kLarge = size_t{1} << 18;

  rlimit before_ = {};
  std::vector<void*> blocks_;
};

TEST(HostSessionTest, WantOfMemoryIsAStatusAndTheSessionGoesOn) {
  if (reprise::testing::kHasShadowMemory) GTEST_SKIP() << "the sanitizer needs the address space that this limits";
  HostTask task = SmallImageTask();
  task.shape.cnn.base_channels = 128;  // the slot has 256 channels, and its seed 4 MB
  task.shape.cnn.num_blocks = 2;
  const std::unique_ptr<HostSession> session = NewSession(task), target = NewSession(task);
  ASSERT_OK(session->Germinate("conv_heavy"));
  const std::vector<Tensor> state = session->State();
  const std::vector<TensorView> views = ViewsOf(state);
  const std::shared_ptr<const HostSnapshot> snapshot = *session->TakeSnapshot();
  const std::function<absl::Status()> calls[] = {
      [&] { return session->TakeSnapshot().status(); },
      [&] { return target->Load(views); },
  };
  for (const std::function<absl::Status()>& call : calls) {
    absl::Status status;
    {
      const NoMoreMemory limit;
      status = call();
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("not enough memory for a host")));
    EXPECT_OK(call());
  }
  EXPECT_EQ(DigestOfState(*target), DigestOfState(*session));
  EXPECT_OK(session->Rollback(*snapshot, "x"));
}

TEST(HostSessionTest, HasTheParametersOfItsParts) {
  HostTask task = *FindHostTask("cifar10");
  const std::unique_ptr<HostSession> session = NewSession(task);
  EXPECT_EQ(session->host_params(), 6418);
  EXPECT_EQ(session->slot_channels(), 16);
  EXPECT_EQ(session->active_seed_params(), 0);
  ASSERT_OK(session->Germinate("conv_light"));
  EXPECT_EQ(session->active_seed_params(), 9 * 256 + 32);
  EXPECT_EQ(session->host_params(), 6418);
  EXPECT_THAT(HostLibrary(), HasSubstr("libtorch 2.13"));
}

}  // namespace
}  // namespace reprise::models
