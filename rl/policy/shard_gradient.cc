#include "rl/policy/shard_gradient.h"

#include <algorithm>

#include "core/status/check.h"
#include "kernels/router/router.h"
#include "models/decoder/load_balancing.h"
#include "rl/policy/micro_batches.h"

namespace reprise::rl {
namespace {

using models::PackedBatch;
using models::Segment;

// Adds what the decoder's routers chose for the rows of a forward pass.
void AddExpertCounts(const models::Activations& activations, std::vector<int64_t>* count_E) {
  const models::DecoderConfig& config = activations.config();
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    kernels::CountExperts(activations.rows(), config.num_experts_per_tok, activations.layer(i).expert_TK,
                          count_E->data());
  }
}

std::vector<GroupRows> RowsOfAll(const std::vector<TrainingGroup>& groups) {
  std::vector<GroupRows> rows;
  for (const TrainingGroup& group : groups) rows.push_back(RowsOf(group));
  return rows;
}

class ShardRun {
 public:
  ShardRun(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, float temperature,
           const models::AuxiliaryGradient& auxiliary_E, const CompletionLoss& loss, ShardWorkspace* work,
           models::ShardGradient* gradient, models::GradientSink* sink)
      : decoder_(decoder),
        groups_(groups),
        temperature_(temperature),
        auxiliary_E_(auxiliary_E),
        loss_(loss),
        work_(*work),
        gradient_(gradient),
        sink_(sink) {
    counts_.expert_count_E.assign(static_cast<size_t>(decoder.config.num_experts), 0);
    counts_.probability_sum_E.assign(static_cast<size_t>(decoder.config.num_experts), 0.0);
  }

  ShardCounts Run(const std::vector<MicroBatch>& plan) {
    for (size_t i = 0; i < plan.size(); ++i) {
      const bool last = i + 1 == plan.size();
      ++counts_.micro_batches;
      if (plan[i].cut) {
        RunPiece(plan[i], last);
      } else {
        RunWholeGroups(plan[i], last);
      }
    }
    return std::move(counts_);
  }

 private:
  void RunWholeGroups(const MicroBatch& micro_batch, bool last) {
    work_.batch = {};
    work_.scored.Clear();
    for (int64_t g = micro_batch.group_begin; g < micro_batch.group_end; ++g) {
      AppendGroup(groups_[static_cast<size_t>(g)], &work_.batch, &work_.scored);
    }
    models::Forward(decoder_, work_.batch, nullptr, &work_.activations);
    Count(work_.activations);
    models::ScoreForward(decoder_, work_.activations, work_.scored, temperature_, &work_.scores);
    work_.dlogprob.resize(static_cast<size_t>(work_.scored.targets()));
    // Targets stand in row order: of each group the completions' later tokens, then all first tokens.
    int64_t target = 0, row = 0;
    for (int64_t g = micro_batch.group_begin; g < micro_batch.group_end; ++g) {
      const TrainingGroup& group = groups_[static_cast<size_t>(g)];
      int64_t later = 0;
      for (const auto& completion : group.completion_G) later += static_cast<int64_t>(completion.size()) - 1;
      ApplyLoss(g, 0, static_cast<int64_t>(group.completion_G.size()), work_.scores, target, row, work_.dlogprob.data(),
                work_.scores, target + later, row + later, work_.dlogprob.data());
      target += later + static_cast<int64_t>(group.completion_G.size());
      row += later + 1;
    }
    BackwardBatch(nullptr, last);
  }

  // A part of a cut group. The group's first part computes the prompt, its last part sends the gradient through it.
  void RunPiece(const MicroBatch& piece, bool last_of_shard) {
    const int64_t g = piece.group_begin;
    const TrainingGroup& group = groups_[static_cast<size_t>(g)];
    const int64_t completions = static_cast<int64_t>(group.completion_G.size());
    if (piece.completion_begin == 0) OpenPrompt(group);
    work_.batch = {};
    work_.scored.Clear();
    AppendCompletions(group, piece.completion_begin, piece.completion_end, models::kOutsidePrefix, &work_.batch,
                      &work_.scored);
    models::Forward(decoder_, work_.batch, &work_.prompt_activations, &work_.activations);
    Count(work_.activations);
    models::ScoreForward(decoder_, work_.activations, work_.scored, temperature_, &work_.scores);
    work_.dlogprob.resize(static_cast<size_t>(work_.scored.targets()));
    ApplyLoss(g, piece.completion_begin, piece.completion_end, work_.scores, 0, 0, work_.dlogprob.data(),
              work_.prompt_scores, 0, 0, prompt_dlogprob_.data());
    BackwardBatch(&work_.prompt_activations, false);
    if (piece.completion_end == completions) ClosePrompt(last_of_shard);
  }

  void OpenPrompt(const TrainingGroup& group) {
    ++counts_.cut_groups;
    PackedBatch batch;
    work_.prompt_scored.Clear();
    AppendPrompt(group, &batch, &work_.prompt_scored);
    models::Forward(decoder_, batch, nullptr, &work_.prompt_activations);
    models::ScoreForward(decoder_, work_.prompt_activations, work_.prompt_scored, temperature_, &work_.prompt_scores);
    prompt_dlogprob_.assign(group.completion_G.size(), 0.0f);
  }

  void ClosePrompt(bool last_of_shard) {
    Count(work_.prompt_activations);
    work_.dhidden_TD.resize(static_cast<size_t>(work_.prompt_activations.rows() * decoder_.config.hidden_size));
    models::ScoreBackward(decoder_, work_.prompt_activations, work_.prompt_scored, temperature_,
                          prompt_dlogprob_.data(), last_of_shard, &work_.prompt_scores, work_.dhidden_TD.data(),
                          gradient_, sink_);
    models::Backward(decoder_, auxiliary_E_, &work_.prompt_activations, nullptr, work_.dhidden_TD.data(), last_of_shard,
                     gradient_, sink_);
  }

  // Calls the loss of completions [begin, end). Their later tokens' targets and rows start at later_target and
  // later_row of `later`; the first token of completion c is target first_target + c of row first_row of `first`.
  void ApplyLoss(int64_t g, int64_t begin, int64_t end, const models::ScoreBuffers& later, int64_t later_target,
                 int64_t later_row, float* later_dlogprob, const models::ScoreBuffers& first, int64_t first_target,
                 int64_t first_row, float* first_dlogprob) {
    const TrainingGroup& group = groups_[static_cast<size_t>(g)];
    for (int64_t c = begin; c < end; ++c) {
      const size_t tokens = group.completion_G[static_cast<size_t>(c)].size();
      logprob_T_.resize(tokens), entropy_T_.resize(tokens), dlogprob_T_.assign(tokens, 0.0f);
      logprob_T_[0] = first.logprob[static_cast<size_t>(first_target + c)];
      entropy_T_[0] = first.statistics_S[static_cast<size_t>(first_row)].entropy;
      for (size_t t = 1; t < tokens; ++t) {
        logprob_T_[t] = later.logprob[static_cast<size_t>(later_target) + t - 1];
        entropy_T_[t] = later.statistics_S[static_cast<size_t>(later_row) + t - 1].entropy;
      }
      loss_(g, c, logprob_T_, entropy_T_, absl::MakeSpan(dlogprob_T_));
      first_dlogprob[first_target + c] = dlogprob_T_[0];
      std::copy(dlogprob_T_.begin() + 1, dlogprob_T_.end(), later_dlogprob + later_target);
      later_target += static_cast<int64_t>(tokens) - 1;
      later_row += static_cast<int64_t>(tokens) - 1;
    }
  }

  void BackwardBatch(models::Activations* outside, bool last) {
    work_.dhidden_TD.resize(static_cast<size_t>(work_.activations.rows() * decoder_.config.hidden_size));
    models::ScoreBackward(decoder_, work_.activations, work_.scored, temperature_, work_.dlogprob.data(), last,
                          &work_.scores, work_.dhidden_TD.data(), gradient_, sink_);
    models::Backward(decoder_, auxiliary_E_, &work_.activations, outside, work_.dhidden_TD.data(), last, gradient_,
                     sink_);
  }

  // Called once for every batch, segments in canonical order.
  void Count(const models::Activations& activations) {
    const models::DecoderConfig& config = decoder_.config;
    std::vector<double> sum_E(static_cast<size_t>(config.num_experts));
    for (const Segment& segment : activations.batch().segments) {
      (segment.prefix == models::kNoPrefix ? counts_.prompt_rows : counts_.completion_rows) += segment.rows;
      models::SumProbabilities(activations, segment, sum_E.data());
      for (size_t e = 0; e < sum_E.size(); ++e) counts_.probability_sum_E[e] += sum_E[e];
    }
    AddExpertCounts(activations, &counts_.expert_count_E);
  }

  const models::Decoder& decoder_;
  const std::vector<TrainingGroup>& groups_;
  const float temperature_;
  const models::AuxiliaryGradient& auxiliary_E_;
  const CompletionLoss& loss_;
  ShardWorkspace& work_;
  models::ShardGradient* const gradient_;
  models::GradientSink* const sink_;
  ShardCounts counts_;
  std::vector<float> prompt_dlogprob_, logprob_T_, entropy_T_, dlogprob_T_;
};

}  // namespace

ShardCounts AccumulateShard(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups, int64_t max_rows,
                            float temperature, const models::AuxiliaryGradient& auxiliary_E, const CompletionLoss& loss,
                            ShardWorkspace* workspace, models::ShardGradient* gradient, models::GradientSink* sink) {
  ShardRun run(decoder, groups, temperature, auxiliary_E, loss, workspace, gradient, sink);
  if (groups.empty()) std::fill_n(gradient->total, decoder.layout.total, 0.0f);
  return run.Run(PlanMicroBatches(RowsOfAll(groups), max_rows));
}

std::vector<int64_t> CountShardExperts(const models::Decoder& decoder, const std::vector<TrainingGroup>& groups,
                                       int64_t max_rows, ShardWorkspace* workspace) {
  std::vector<int64_t> count_E(static_cast<size_t>(decoder.config.num_experts));
  for (const MicroBatch& piece : PlanMicroBatches(RowsOfAll(groups), max_rows)) {
    if (piece.cut && piece.completion_begin > 0)
      continue;  // a choice depends on its row alone: count the group at once
    workspace->batch = {};
    workspace->scored.Clear();
    for (int64_t g = piece.group_begin; g < piece.group_end; ++g) {
      AppendGroup(groups[static_cast<size_t>(g)], &workspace->batch, &workspace->scored);
    }
    models::Forward(decoder, workspace->batch, nullptr, &workspace->activations);
    AddExpertCounts(workspace->activations, &count_E);
  }
  return count_E;
}

}  // namespace reprise::rl
