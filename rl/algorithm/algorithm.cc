#include "rl/algorithm/algorithm.h"

#include "core/config/unknown_name.h"

namespace reprise::rl {
namespace {

constexpr double kCispoCap = 5.0;

std::vector<AlgorithmRow> MakeTable() {
  std::vector<AlgorithmRow> table = {
      {.name = "grpo",
       .source = "Shao et al., DeepSeekMath, 2024 (arXiv 2402.03300), as TRL's GRPOTrainer: the mean over the step's "
                 "tokens; loss_type grpo is the paper's mean over completions",
       .loss = {.loss_type = LossType::kDapo}},
      {.name = "dapo",
       .source = "Yu et al., 2025 (arXiv 2503.14476): token mean, the upper clip raised; sampling is the rollout's",
       .loss = {.loss_type = LossType::kDapo, .epsilon_high = 0.28}},
      {.name = "dr_grpo",
       .source = "Liu et al., 2025 (arXiv 2503.20783): neither deviation nor length divides",
       .advantage = {.scale_rewards = ScaleRewards::kNone},
       .loss = {.loss_type = LossType::kDrGrpo}},
      {.name = "bnpo",
       .source = "TRL's loss_type bnpo: mean over the minibatch's tokens",
       .loss = {.loss_type = LossType::kBnpo}},
      {.name = "gspo",
       .source = "Zheng et al., 2025 (arXiv 2507.18071): one ratio a sequence, clipped tightly",
       .loss = {.loss_type = LossType::kGrpo,
                .importance_sampling_level = ImportanceLevel::kSequence,
                .epsilon = 3e-4,
                .epsilon_high = 4e-4}},
      {.name = "cispo",
       .source = "MiniMax-M1, 2025 (arXiv 2506.13585), as TRL defines it",
       .loss = {.loss_type = LossType::kCispo, .epsilon_high = kCispoCap}},
      {.name = "sapo", .source = "Soft adaptive policy optimization, as TRL", .loss = {.loss_type = LossType::kSapo}},
      {.name = "luspo",
       .source = "Length-unbiased sequence policy optimization, as TRL",
       .loss = {.loss_type = LossType::kLuspo, .importance_sampling_level = ImportanceLevel::kSequence}},
      {.name = "vespo",
       .source = "Variational sequence-level soft policy optimization, as TRL",
       .loss = {.loss_type = LossType::kVespo}},
      {.name = "rloo",
       .source = "Ahmadian et al., 2024 (arXiv 2402.14740), as TRL's RLOOTrainer",
       .advantage = {.baseline = Baseline::kLeaveOneOut, .reward_beta = 0.05},
       .loss = {.loss_type = LossType::kRloo, .importance_sampling_level = ImportanceLevel::kSequenceSum}},
  };
  return table;
}

}  // namespace

std::vector<absl::string_view> AlgorithmNames() {
  std::vector<absl::string_view> names;
  for (const AlgorithmRow& row : MakeTable()) names.push_back(row.name);
  return names;
}

absl::StatusOr<AlgorithmRow> FindAlgorithm(absl::string_view name) {
  for (const AlgorithmRow& row : MakeTable()) {
    if (row.name == name) return row;
  }
  return UnknownName("algorithm", name, AlgorithmNames());
}

void SetBeta(double beta, AlgorithmRow* row) {
  (row->loss.loss_type == LossType::kRloo ? row->advantage.reward_beta : row->loss.beta) = beta;
}

double Beta(const AlgorithmRow& row) {
  return row.loss.loss_type == LossType::kRloo ? row.advantage.reward_beta : row.loss.beta;
}

void SetLossType(LossType loss_type, AlgorithmRow* row) {
  if (loss_type == row->loss.loss_type) return;
  if (loss_type == LossType::kCispo) row->loss.epsilon_high = kCispoCap;
  if (row->loss.loss_type == LossType::kCispo) row->loss.epsilon_high = row->loss.epsilon;
  if (row->loss.loss_type == LossType::kRloo) row->loss.importance_sampling_level = ImportanceLevel::kToken;
  if (loss_type == LossType::kRloo) row->loss.importance_sampling_level = ImportanceLevel::kSequenceSum;
  const double beta = Beta(*row);
  SetBeta(0.0, row);
  row->loss.loss_type = loss_type;
  SetBeta(beta, row);
}

}  // namespace reprise::rl
