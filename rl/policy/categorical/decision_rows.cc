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

std::vector<std::vector<EpisodeRows>> BatchesOf(const ShardInput& shard, int64_t max_rows) {
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

DecisionRows::DecisionRows(const std::vector<EpisodeRows>& batch, int64_t features, int64_t actions)
    : features_(features), actions_(actions) {
  for (const EpisodeRows& of : batch) {
    const FeatureDecisions& content = DecisionsIn(*of.episode);
    CHECK_LE(of.count * features, static_cast<int64_t>(content.feature_TF.size()));
    CHECK_EQ(of.count * actions, static_cast<int64_t>(content.allowed_TA.size()));
    const auto begin = content.feature_TF.begin();
    feature_RF_.insert(feature_RF_.end(), begin, begin + of.count * features);
    allowed_RA_.insert(allowed_RA_.end(), content.allowed_TA.begin(), content.allowed_TA.end());
    action_R_.insert(action_R_.end(), content.action_T.begin(), content.action_T.end());
  }
}

}  // namespace reprise::rl
