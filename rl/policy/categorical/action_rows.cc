#include "rl/policy/categorical/action_rows.h"

#include <algorithm>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/math/scalar_math.h"

namespace reprise::rl {

std::vector<std::vector<EpisodeRows>> SplitIntoBatches(const ShardInput& shard, int64_t max_rows) {
  std::vector<std::vector<EpisodeRows>> batches;
  int64_t rows = 0;  // of the last batch
  for (const EpisodeGroup& group : shard) {
    for (size_t i = 0; i < group.episode_G.size(); ++i) {
      const int64_t count = group.episode_G[i]->decisions.count;
      if (batches.empty() || (max_rows > 0 && rows > 0 && rows + count > max_rows)) {
        batches.emplace_back();
        rows = 0;
      }
      batches.back().push_back({group.episode_G[i], group.index_G[i], rows, count});
      rows += count;
    }
  }
  return batches;
}

ActionDistributions::ActionDistributions(int64_t rows, int64_t actions)
    : actions_(actions), z_RA_(static_cast<size_t>(rows * actions)), statistics_R_(static_cast<size_t>(rows)) {}

void ActionDistributions::Normalize(float temperature) {
  kernels::CategoricalForward(temperature, logits(), statistics_R_.data());
}

ActionDistributions ActionDistributions::Select(absl::Span<const int32_t> row_R) const {
  ActionDistributions selected(static_cast<int64_t>(row_R.size()), actions_);
  const kernels::ConstRows z = view().z;
  for (int64_t r = 0; r < selected.rows(); ++r) {
    const size_t from = static_cast<size_t>(row_R[r]);
    std::copy_n(z[static_cast<int64_t>(from)], actions_, selected.logits()[r]);
    selected.statistics_R_[r] = statistics_R_[from];
    if (!scale_R_.empty()) selected.scale_R_.push_back(scale_R_[from]);
    if (!floor_scale_R_.empty()) selected.floor_scale_R_.push_back(floor_scale_R_[from]);
  }
  return selected;
}

void ActionDistributions::CountChoices(const kernels::RowView<const uint8_t>& allowed, bool divides_entropies) {
  scale_R_.clear();
  floor_scale_R_.clear();
  const double all = kernels::Log(static_cast<double>(actions_));
  for (int64_t r = 0; r < rows(); ++r) {
    const int64_t count = std::count_if(allowed[r], allowed[r] + actions_, [](uint8_t one) { return one != 0; });
    const double log = kernels::Log(static_cast<double>(count));
    if (divides_entropies) scale_R_.push_back(count > 1 ? static_cast<float>(1.0 / log) : 0.0f);
    const bool is_open = count <= 1 || count == actions_;
    floor_scale_R_.push_back(is_open ? 1.0f : static_cast<float>(std::min(3.0, all / log)));
  }
}

float ActionDistributions::entropy(int64_t row) const {
  const float entropy = statistics_R_[row].entropy;
  return scale_R_.empty() ? entropy : std::min(1.0f, entropy * entropy_scale(row));
}

ActionScores SelectScores(const ActionDistributions& distributions, const int32_t* action_R) {
  ActionScores scores;
  const kernels::CategoricalRows view = distributions.view();
  for (int64_t r = 0; r < distributions.rows(); ++r) {
    CHECK(action_R[r] >= 0 && action_R[r] < distributions.actions());
    const kernels::RowStatistics& row = view.statistics[r];
    scores.logprob_R.push_back(kernels::LogProbability(row, view.z[r][action_R[r]]));
    scores.entropy_R.push_back(distributions.entropy(r));
  }
  return scores;
}

absl::StatusOr<ActionGradients> ApplyLosses(const ShardPass& pass, const ScoredActions& rows) {
  const bool has_reference = rows.reference != nullptr;
  const size_t count = static_cast<size_t>(rows.policy.rows());
  ActionScores scores = SelectScores(rows.policy, rows.action_R);
  std::vector<float> divergence_R(has_reference ? count : 0);
  if (has_reference) {
    kernels::CategoricalDivergence(rows.policy.view(), rows.reference->view(), divergence_R.data());
  }
  std::vector<float> dlogprob_R(count), dentropy_R(count), ddivergence_R(divergence_R.size());
  ActionGradients gradients = {std::vector<float>(count * static_cast<size_t>(rows.policy.actions())),
                               std::vector<float>(count)};
  for (const EpisodeRows& of : rows.episodes) {
    const absl::Span<float> none;
    const std::vector<float>& floor_R = rows.policy.floor_scale_R();
    const DecisionScores seen = {of.Part(scores.logprob_R), of.Part(scores.entropy_R),
                                 has_reference ? of.Part(divergence_R) : none,
                                 floor_R.empty() ? absl::Span<const float>() : of.Part(floor_R)};
    const DecisionGradients back = {of.Part(dlogprob_R), of.Part(dentropy_R),
                                    has_reference ? of.Part(ddivergence_R) : none};
    RETURN_IF_ERROR(pass.loss(of.index, seen, back));
    if (pass.value_loss) {
      RETURN_IF_ERROR(pass.value_loss(of.index, of.Part(rows.value_R), of.Part(gradients.dvalue_R)));
    }
  }
  for (size_t r = 0; r < count; ++r) dentropy_R[r] *= rows.policy.entropy_scale(static_cast<int64_t>(r));
  kernels::CategoricalGradient of_rows = {rows.action_R, dlogprob_R.data(), dentropy_R.data()};
  if (has_reference) {
    of_rows.reference = rows.reference->view();
    of_rows.divergence = divergence_R.data();
    of_rows.ddivergence = ddivergence_R.data();
  }
  kernels::CategoricalBackward(rows.policy.view(), pass.temperature, of_rows,
                               {gradients.dlogit_RA.data(), rows.policy.rows(), rows.policy.actions()});
  return gradients;
}

}  // namespace reprise::rl
