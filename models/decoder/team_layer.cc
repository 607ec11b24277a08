#include "models/decoder/team_layer.h"

#include <algorithm>
#include <vector>

#include "core/parallel/activity.h"
#include "kernels/products/products.h"
#include "kernels/rows/elementwise.h"
#include "models/lora/expert_adapters.h"

namespace reprise::models {
namespace {

// A thread that has fewer rows than this in a product waits for its weights rather than for its arithmetic; then each
// weight should be read by only one thread.
constexpr int64_t kLeastRows = 8;

}  // namespace

void TeamLayer::ForRows(const std::function<void(int64_t, int64_t, const Team&)>& work) const {
  if (rows_ < kLeastRows * team_.threads()) return work(0, rows_, team_);
  team_.ForRanges(rows_, kLeastRows, [&](int64_t begin, int64_t end) { work(begin, end, Team()); });
}

void TeamLayer::Project(const LayerWeights& weights, const LayerRows& layer) const {
  MarkActivity();  // once a layer, also on one thread
  ForRows([&](int64_t begin, int64_t end, const Team& team) {
    ProjectQueriesKeysValues(config_, weights, rotary_, position_T_ + begin, Slice(config_, layer, {begin, end}), team);
  });
}

void TeamLayer::Mix(const LayerWeights& weights, const LayerRows& layer) const {
  ForRows([&](int64_t begin, int64_t end, const Team& team) {
    MixAndRoute(config_, weights, Slice(config_, layer, {begin, end}), team);
  });
}

void TeamLayer::Experts(const LayerWeights& weights, const LayerRows& layer, const kernels::Rows& x_next_TD) const {
  if (team_.is_alone()) return RunExperts(config_, weights, layer, x_next_TD);
  kernels::PlanExperts(rows_, config_.num_experts, config_.num_experts_per_tok, layer.expert_TK, layer.plan);
  const ExpertAdapters adapters(weights.adapters, *layer.plan, layer.experts, layer.dropout_T);
  const kernels::ExpertLayer experts = ExpertsOf(weights, layer, &adapters);
  std::vector<int64_t> active;
  for (int64_t e = 0; e < experts.plan.experts(); ++e) {
    if (experts.plan.RowsOf(e).size() > 0) active.push_back(e);
  }
  if (active.empty()) return;  // a one-token completion has no rows of its own
  if (static_cast<int64_t>(active.size()) >= 2 * team_.threads()) {
    RunManyExperts(active, experts, layer.post_normed_TD);
  } else {
    RunFewExperts(active, experts, layer.post_normed_TD);
  }
  team_.ForRanges(rows_, kLeastRows, [&](int64_t begin, int64_t end) {
    kernels::MixExperts(experts, {begin, end}, layer.mixed_TD);
    kernels::Add((end - begin) * config_.hidden_size, layer.middle_TD[begin], layer.mixed_TD[begin], x_next_TD[begin]);
  });
}

// Runs one task per expert, those with the most rows first, so that all threads finish at about the same time.
void TeamLayer::RunManyExperts(const std::vector<int64_t>& active, const kernels::ExpertLayer& experts,
                               const kernels::ConstRows& x_TD) const {
  const kernels::ExpertPlan& plan = experts.plan;
  std::vector<int64_t> order = active;
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return plan.RowsOf(a).size() > plan.RowsOf(b).size(); });
  team_.ForEach(static_cast<int64_t>(order.size()), [&](int64_t index, int) {
    const int64_t e = order[index];
    kernels::GatherExpert(experts, e, x_TD);
    kernels::GateUpOfExpert(experts, e, {0, kernels::Panels(2 * config_.intermediate_size)});
    kernels::GateRows(experts, plan.RowsOf(e));
    kernels::DownOfExpert(experts, e, {0, kernels::Panels(config_.hidden_size)});
  });
}

// With fewer experts than would keep the team busy, their outputs are divided as well.
void TeamLayer::RunFewExperts(const std::vector<int64_t>& active, const kernels::ExpertLayer& experts,
                              const kernels::ConstRows& x_TD) const {
  const int64_t count = static_cast<int64_t>(active.size()), pieces = 2 * team_.threads();
  const auto for_pieces = [&](int64_t outputs, const std::function<void(int64_t, const kernels::Range&)>& work) {
    const int64_t panels = kernels::Panels(outputs), cuts = std::min(panels, (pieces + count - 1) / count);
    team_.ForEach(count * cuts, [&](int64_t index, int) {
      const int64_t cut = index % cuts;
      work(active[index / cuts], {panels * cut / cuts, panels * (cut + 1) / cuts});
    });
  };
  for (int64_t e : active) kernels::GatherExpert(experts, e, x_TD);
  for_pieces(2 * config_.intermediate_size,
             [&](int64_t e, const kernels::Range& panels) { kernels::GateUpOfExpert(experts, e, panels); });
  kernels::GateRows(experts, {0, experts.plan.begin_E.back()});
  for_pieces(config_.hidden_size,
             [&](int64_t e, const kernels::Range& panels) { kernels::DownOfExpert(experts, e, panels); });
}

}  // namespace reprise::models
