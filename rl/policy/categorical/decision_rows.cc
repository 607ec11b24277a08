#include "rl/policy/categorical/decision_rows.h"

#include <any>

#include "core/status/check.h"

namespace reprise::rl {

const FeatureDecisions& DecisionsIn(const EpisodeRecord& episode) {
  const auto* const content = std::any_cast<FeatureDecisions>(&episode.content);
  CHECK(content != nullptr);
  CHECK_EQ(static_cast<int64_t>(content->action_T.size()), episode.decisions.count);
  return *content;
}

DecisionRows::DecisionRows(const std::vector<EpisodeRows>& batch, int64_t features, int64_t actions,
                           const models::FeatureNorm* norm)
    : features_(features), actions_(actions) {
  for (const EpisodeRows& of : batch) {
    const FeatureDecisions& content = DecisionsIn(*of.episode);
    CHECK_LE(of.count * features, static_cast<int64_t>(content.feature_TF.size()));
    CHECK_EQ(of.count * actions, static_cast<int64_t>(content.allowed_TA.size()));
    const auto begin = content.feature_TF.begin();
    feature_RF_.insert(feature_RF_.end(), begin, begin + of.count * features);
    allowed_RA_.insert(allowed_RA_.end(), content.allowed_TA.begin(), content.allowed_TA.end());
    action_R_.insert(action_R_.end(), content.action_T.begin(), content.action_T.end());
    length_S_.push_back(of.count);
  }
  if (norm == nullptr) return;
  const kernels::Rows rows = {feature_RF_.data(), count(), features_};
  norm->Apply(rows, rows);
}

}  // namespace reprise::rl
