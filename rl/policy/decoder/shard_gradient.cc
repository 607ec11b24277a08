#include "rl/policy/decoder/shard_gradient.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "core/status/status_macros.h"
#include "models/decoder/load_balancing.h"
#include "rl/policy/policy.h"

namespace reprise::rl {
namespace {

using models::Segment;

class ShardRun {
 public:
  ShardRun(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, const ShardOptions& options,
           const CompletionLoss* loss, ShardWorkspace* work, models::ShardGradient* gradient,
           models::GradientSink* sink)
      : decoder_(decoder),
        groups_(groups),
        options_(options),
        loss_(loss),
        work_(*work),
        gradient_(gradient),
        sink_(sink),
        forward_(decoder, groups, work) {
    if (options.reference != nullptr) {
      if (work->reference == nullptr) work->reference = std::make_unique<ShardWorkspace>(decoder.config, true);
      work->reference->team = work->team;
      reference_forward_.emplace(*options.reference, groups, work->reference.get());
    }
    counts_.expert_count_LE = models::NoExpertCounts(decoder.config);
    counts_.probability_sum_E.assign(static_cast<size_t>(decoder.config.num_experts), 0.0);
  }

  // A cut group's first piece runs the prompt forward, its last piece runs it backward.
  absl::StatusOr<ShardCounts> Run() {
    if (groups_.empty()) std::fill_n(gradient_->total, decoder_.layout.total, 0.0f);
    const std::vector<MicroBatch> plan = PlanShard(groups_, options_.max_rows);
    for (size_t i = 0; i < plan.size(); ++i) {
      const MicroBatch& batch = plan[i];
      const bool last = i + 1 == plan.size();
      forward_.Run(batch);
      Count(work_.activations);
      if (loss_ != nullptr) forward_.Score(batch, options_.temperature);
      if (options_.reference != nullptr) {
        reference_forward_->Run(batch);
        forward_.ScoreDivergence(batch, *options_.reference, *work_.reference);
      }
      if (options_.values != nullptr) forward_.PredictValues(batch, options_.values->head);
      RETURN_IF_ERROR(ApplyLosses(batch));
      Backward(&work_.activations, batch.cut ? &work_.prompt_activations : nullptr,
               {work_.scored, work_.scores, work_.dlogprob, work_.dentropy_S, work_.ddivergence_S, work_.values,
                work_.dvalue_S},
               last && !batch.cut);
      if (ClosesGroup(batch, groups_)) {
        Count(work_.prompt_activations);
        Backward(&work_.prompt_activations, nullptr,
                 {work_.prompt_scored, work_.prompt_scores, work_.prompt_dlogprob, work_.prompt_dentropy_S,
                  work_.prompt_ddivergence_S, work_.prompt_values, work_.prompt_dvalue_S},
                 last);
      }
      ++counts_.micro_batches;
      counts_.cut_groups += OpensGroup(batch) ? 1 : 0;
    }
    return std::move(counts_);
  }

 private:
  // The heads of one batch: of the completions, or of a cut group's prompt.
  struct Heads {
    const models::ScoredRows& scored;
    models::ScoreBuffers& scores;
    const std::vector<float>& dlogprob;
    const std::vector<double>& dentropy_S;
    const std::vector<double>& ddivergence_S;
    models::ValueBuffers& values;
    const std::vector<double>& dvalue_S;
  };

  // Clears the gradients with respect to the heads, then calls the losses, which write them, completion by completion.
  absl::Status ApplyLosses(const MicroBatch& batch) {
    const auto clear = [](const models::ScoredRows& scored, std::vector<float>& dlogprob,
                          std::initializer_list<std::vector<double>*> by_row) {
      dlogprob.resize(static_cast<size_t>(scored.targets()));
      for (std::vector<double>* const gradient_S : by_row) {
        gradient_S->assign(static_cast<size_t>(scored.rows()), 0.0);
      }
    };
    clear(work_.scored, work_.dlogprob, {&work_.dentropy_S, &work_.ddivergence_S, &work_.dvalue_S});
    if (OpensGroup(batch)) {
      clear(work_.prompt_scored, work_.prompt_dlogprob,
            {&work_.prompt_dentropy_S, &work_.prompt_ddivergence_S, &work_.prompt_dvalue_S});
    }
    absl::Status status;
    forward_.ForEachCompletion(batch, [&](const ScoredCompletion& completion) {
      if (status.ok() && loss_ != nullptr) status = ApplyLoss(batch, completion);
      if (status.ok() && options_.values != nullptr) status = ApplyValueLoss(batch, completion);
    });
    return status;
  }

  // All completions of a group share the row before their first tokens: its gradients are added in order of
  // completions.
  static void ScatterToRows(const ScoredCompletion& completion, const std::vector<float>& gradient_T,
                            std::vector<double>* first_S, std::vector<double>* later_S) {
    (*first_S)[completion.first_row] += static_cast<double>(gradient_T[0]);
    std::copy(gradient_T.begin() + 1, gradient_T.end(), later_S->begin() + completion.later_row);
  }

  absl::Status ApplyLoss(const MicroBatch& batch, const ScoredCompletion& completion) {
    std::vector<float>& first_dlogprob = batch.cut ? work_.prompt_dlogprob : work_.dlogprob;
    logprob_T_.clear(), entropy_T_.clear(), divergence_T_.clear();
    for (int64_t t = 0; t < completion.tokens; ++t) {
      logprob_T_.push_back(completion.logprob(t));
      entropy_T_.push_back(completion.entropy(t));
      if (options_.reference != nullptr) divergence_T_.push_back(completion.divergence(t));
    }
    dlogprob_T_.assign(logprob_T_.size(), 0.0f);
    dentropy_T_.assign(logprob_T_.size(), 0.0f);
    ddivergence_T_.assign(divergence_T_.size(), 0.0f);
    RETURN_IF_ERROR(
        (*loss_)(completion.group, completion.completion, {logprob_T_, entropy_T_, divergence_T_},
                 {absl::MakeSpan(dlogprob_T_), absl::MakeSpan(dentropy_T_), absl::MakeSpan(ddivergence_T_)}));
    ScatterToRows(completion, dentropy_T_, batch.cut ? &work_.prompt_dentropy_S : &work_.dentropy_S, &work_.dentropy_S);
    if (options_.reference != nullptr) {
      ScatterToRows(completion, ddivergence_T_, batch.cut ? &work_.prompt_ddivergence_S : &work_.ddivergence_S,
                    &work_.ddivergence_S);
    }
    first_dlogprob[completion.first_target] = dlogprob_T_[0];
    std::copy(dlogprob_T_.begin() + 1, dlogprob_T_.end(), work_.dlogprob.begin() + completion.later_target);
    return absl::OkStatus();
  }

  absl::Status ApplyValueLoss(const MicroBatch& batch, const ScoredCompletion& completion) {
    forward_.CopyValues(batch, completion, &value_T_);
    dvalue_T_.assign(value_T_.size(), 0.0f);
    RETURN_IF_ERROR(
        options_.values->loss(completion.group, completion.completion, value_T_, absl::MakeSpan(dvalue_T_)));
    ScatterToRows(completion, dvalue_T_, batch.cut ? &work_.prompt_dvalue_S : &work_.dvalue_S, &work_.dvalue_S);
    return absl::OkStatus();
  }

  void Backward(models::Activations* activations, models::Activations* outside, const Heads& heads, bool last) {
    const models::GradientTarget target = {gradient_, sink_, last};
    work_.dhidden_TD.resize(static_cast<size_t>(activations->rows() * decoder_.config.hidden_size));
    if (loss_ != nullptr) {
      work_.rounded_dentropy_S.assign(heads.dentropy_S.begin(), heads.dentropy_S.end());
      work_.rounded_ddivergence_S.assign(heads.ddivergence_S.begin(), heads.ddivergence_S.end());
      models::ScoreBackward(decoder_, *activations, heads.scored,
                            {heads.dlogprob.data(), work_.rounded_dentropy_S.data(), options_.reference,
                             work_.rounded_ddivergence_S.data()},
                            &heads.scores, work_.dhidden_TD.data(), target, work_.team);
    } else {
      std::fill(work_.dhidden_TD.begin(), work_.dhidden_TD.end(), 0.0f);
    }
    if (options_.values != nullptr) {
      work_.rounded_dvalue_S.assign(heads.dvalue_S.begin(), heads.dvalue_S.end());
      models::ValueBackward(options_.values->head, work_.rounded_dvalue_S, heads.scored.row_S, last, &heads.values,
                            work_.dhidden_TD.data(), &options_.values->gradient);
      if (last && options_.values->head_is_final) options_.values->head_is_final();
    }
    models::Backward(decoder_, options_.auxiliary_E, activations, outside, work_.dhidden_TD.data(), target, work_.team);
  }

  // Called once per batch; segments are counted in canonical order.
  void Count(const models::Activations& activations) {
    std::vector<double> sum_E(static_cast<size_t>(decoder_.config.num_experts));
    for (const Segment& segment : activations.batch().segments) {
      (segment.prefix == models::kNoPrefix ? counts_.prompt_rows : counts_.completion_rows) += segment.rows;
      models::SumProbabilities(activations, segment, sum_E.data());
      for (size_t e = 0; e < sum_E.size(); ++e) counts_.probability_sum_E[e] += sum_E[e];
    }
    models::AddExpertCounts(activations, absl::MakeSpan(counts_.expert_count_LE));
    KeepLargest(activations.largest_logit_LH(), &counts_.largest_logit_LH);
  }

  const models::Decoder& decoder_;
  const std::vector<TrainingGroup>& groups_;
  const ShardOptions& options_;
  const CompletionLoss* const loss_;  // null: a value network
  ShardWorkspace& work_;
  models::ShardGradient* const gradient_;
  models::GradientSink* const sink_;
  ShardForward forward_;
  std::optional<ShardForward> reference_forward_;
  ShardCounts counts_;
  std::vector<float> logprob_T_, entropy_T_, divergence_T_, dlogprob_T_, dentropy_T_, ddivergence_T_;
  std::vector<float> value_T_, dvalue_T_;
};

}  // namespace

absl::StatusOr<ShardCounts> AccumulateShard(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                            const ShardOptions& options, const CompletionLoss& loss,
                                            ShardWorkspace* workspace, models::ShardGradient* gradient,
                                            models::GradientSink* sink) {
  return ShardRun(decoder, groups, options, &loss, workspace, gradient, sink).Run();
}

absl::Status AccumulateShardValues(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                   int64_t max_rows, ShardWorkspace* workspace, models::ShardGradient* gradient,
                                   ShardValues* values, models::GradientSink* sink) {
  const ShardOptions options = {.max_rows = max_rows, .values = values};
  return ShardRun(decoder, groups, options, nullptr, workspace, gradient, sink).Run().status();
}

}  // namespace reprise::rl
