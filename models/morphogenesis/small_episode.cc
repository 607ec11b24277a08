#include "models/morphogenesis/small_episode.h"

#include <bit>

#include "core/digest/sha256.h"
#include "core/status/check.h"
#include "models/morphogenesis/small_examples.h"

namespace reprise::models::testing {
namespace {

void Update(const HostSession& session, Sha256Stream* stream) {
  for (const Tensor& tensor : session.State()) {
    stream->Update(tensor.name());
    stream->Update(tensor.bytes());
  }
}

class Player {
 public:
  explicit Player(const SmallEpisode& episode)
      : episode_(episode),
        training_(episode.task, 1, episode.training_batches, 16),
        validation_(episode.task, 2, 2, 32) {
    SessionOptions options = {.task = episode.task};
    options.slot.thresholds = episode.thresholds;
    played_.session = *HostSession::Create(options, episode.coordinates);
  }

  PlayedEpisode Play() {
    for (int epoch = 1; epoch <= episode_.epochs; ++epoch) {
      if (episode_.before_epoch) episode_.before_epoch(epoch, &played_.session);
      TrainAndValidate();
      played_.session->StepEpoch();
      Act(epoch);
      for (SlotEvent& event : played_.session->TakeEvents()) played_.events.push_back(std::move(event));
    }
    Update(*played_.session, &stream_);
    played_.digest = ToHex(stream_.Current());
    return std::move(played_);
  }

 private:
  void Record(double value) { stream_.UpdateU64(std::bit_cast<uint64_t>(value)); }

  void TrainAndValidate() {
    HostSession& session = *played_.session;
    const EpochTraining trained = *session.TrainOneEpoch(training_.batches());
    const HostEvaluation evaluated = *session.Evaluate(validation_.batches());
    session.RecordAccuracy(evaluated.accuracy);
    played_.accuracies.push_back(evaluated.accuracy);
    played_.gradient_ratios.push_back(trained.seed_gradient_ratio);
    for (const double value : {trained.loss_sum, trained.correct, trained.host_gradient_norm,
                               trained.seed_gradient_ratio, evaluated.mean_loss, evaluated.correct}) {
      Record(value);
    }
    if (session.seed() == nullptr || session.seed()->alpha == 0) return;
    const HostEvaluation without = *session.Evaluate(validation_.batches(), 0.0);
    played_.contributions.push_back(evaluated.accuracy - without.accuracy);
    Record(without.mean_loss);
    session.SetCounterfactual(evaluated.accuracy - without.accuracy);
  }

  void Act(int epoch) {
    HostSession& session = *played_.session;
    if (session.slot_stage() == Stage::kProbationary) session.AdvanceStage(Stage::kFossilized);
    if (epoch == episode_.cull_at) session.Cull("as planned");
    const bool free = session.seed() == nullptr && session.embargo_remaining() == 0;
    const size_t next = static_cast<size_t>(session.seeds_germinated());
    if (!free || epoch < episode_.first_seed || next >= episode_.blueprints.size()) return;
    CHECK(session.Germinate(episode_.blueprints[next])->passed);
  }

  const SmallEpisode& episode_;
  const SmallExamples training_, validation_;
  PlayedEpisode played_;
  Sha256Stream stream_;
};

}  // namespace

PlayedEpisode Play(const SmallEpisode& episode) { return Player(episode).Play(); }

std::string DigestOfState(const HostSession& session) {
  Sha256Stream stream;
  Update(session, &stream);
  return ToHex(stream.Current());
}

}  // namespace reprise::models::testing
