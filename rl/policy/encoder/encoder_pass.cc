#include "rl/policy/encoder/encoder_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/embedding/embedding.h"
#include "models/decoder/load_balancing.h"

namespace reprise::rl {
namespace {

class TargetSink final : public models::GradientSink {
 public:
  explicit TargetSink(const PassTarget& target) : target_(target) {}
  void Finished(int spec, const models::ShardGradient&) override { Report(spec, spec + 1); }

  // Reports the tensors [begin, end), the last one first.
  void Report(int begin, int end) const {
    for (int spec = end; target_.finished && spec > begin; --spec) target_.finished(spec - 1);
  }

 private:
  const PassTarget& target_;
};

kernels::ConstRows RowsOf(const std::vector<float>& embedding_UD, int64_t width) {
  return {embedding_UD.data(), static_cast<int64_t>(embedding_UD.size()) / width, width};
}

// Returns for each text the sum over the decisions that read it, in order.
std::vector<float> SumByText(const UniqueTexts& texts, const std::vector<float>& d_R, int64_t width) {
  std::vector<float> d_U(static_cast<size_t>(texts.texts() * width));
  kernels::EmbedBackward(texts.text_of_decision().data(), {d_R.data(), texts.decisions(), width}, /*skip_token=*/-1,
                         d_U.data());
  return d_U;
}

// Adds the sums of probabilities of a micro-batch, text by text.
void AddProbabilities(const models::Activations& activations, std::vector<double>* sum_E) {
  std::vector<double> of_text_E(sum_E->size());
  for (const models::Segment& segment : activations.batch().segments) {
    models::SumProbabilities(activations, segment, of_text_E.data());
    for (size_t e = 0; e < sum_E->size(); ++e) (*sum_E)[e] += of_text_E[e];
  }
}

}  // namespace

ActionDistributions ComputeDistributions(const EncoderNetwork& network, const std::vector<float>& embedding_UD,
                                         float temperature, TextWorkspace* work) {
  const kernels::ConstRows rows = RowsOf(embedding_UD, network.heads.width());
  ActionDistributions distributions(rows.rows, network.heads.actions());
  network.heads.Logits(rows, distributions.logits(), &work->heads);
  distributions.Normalize(temperature);
  return distributions;
}

std::vector<float> ValuesOf(const EncoderNetwork& network, const std::vector<float>& embedding_UD,
                            TextWorkspace* work) {
  const kernels::ConstRows rows = RowsOf(embedding_UD, network.heads.width());
  std::vector<float> value_U(static_cast<size_t>(rows.rows));
  network.heads.Values(rows, value_U.data(), &work->heads);
  return value_U;
}

std::vector<int32_t> ActionsIn(const ShardInput& shard) {
  std::vector<int32_t> action_R;
  for (const EpisodeGroup& group : shard) {
    for (const EpisodeRecord* const episode : group.episode_G) {
      const std::vector<int32_t>& action_T = TextDecisionsIn(*episode).action_T;
      action_R.insert(action_R.end(), action_T.begin(), action_T.end());
    }
  }
  return action_R;
}

UniqueTexts TextsOf(const EncoderNetwork& network, const ShardInput& shard, bool after_truncation) {
  UniqueTexts texts(shard, after_truncation);
  if (network.model.config().lora.dropout == 0 || shard.empty()) return texts;
  const EpisodeGroup& first = shard.front();
  for (const EpisodeGroup& group : shard) CHECK(group.step == first.step && group.phase == first.phase);
  texts.DropAt(TextDropout{network.dropout_seed, static_cast<uint64_t>(first.step), first.phase == Phase::kSft});
  return texts;
}

absl::StatusOr<PassResult> AccumulateDecisions(const EncoderNetwork& network, const UniqueTexts& texts,
                                               const ActionDistributions* reference_U,
                                               const models::AuxiliaryGradient& auxiliary_E, const ShardPass& pass,
                                               const ShardInput& shard, const PassTarget& target, TextWorkspace* work) {
  const models::Decoder& encoder = network.model.decoder();
  const models::DecoderConfig& config = encoder.config;
  PassResult result;
  if (config.router_aux_loss_coef != 0) result.sum_M.resize(static_cast<size_t>(config.num_experts));
  TargetSink sink(target);
  const int specs = static_cast<int>(encoder.layout.specs.size()), encoder_specs = network.heads.first_spec();
  if (texts.texts() == 0) {
    std::fill_n(target.total, encoder.layout.total, 0.0f);
    if (!shard.empty()) sink.Report(0, specs);
    return result;
  }
  const absl::Span<const int32_t> text_R = texts.text_of_decision();
  std::optional<ActionDistributions> reference_R;
  if (reference_U != nullptr) reference_R = reference_U->Select(text_R);
  const std::vector<float> embedding_UD =
      EncodeTexts(encoder, texts, work, [&](const models::Activations& activations) {
        result.counts.completion_rows += activations.rows();
        ++result.counts.micro_batches;
        if (!result.sum_M.empty()) AddProbabilities(activations, &result.sum_M);
        KeepLargest(activations.largest_logit_LH(), &result.largest_logits);
      });
  const ActionDistributions policy_R =
      ComputeDistributions(network, embedding_UD, pass.temperature, work).Select(text_R);
  std::vector<float> value_R;
  if (pass.value_loss) {
    const std::vector<float> value_U = ValuesOf(network, embedding_UD, work);
    for (const int32_t text : text_R) value_R.push_back(value_U[text]);
  }
  const std::vector<int32_t> action_R = ActionsIn(shard);
  const std::vector<std::vector<EpisodeRows>> batches = SplitIntoBatches(shard, /*max_rows=*/0);
  ASSIGN_OR_RETURN(const ActionGradients of_R,
                   ApplyLosses(pass, {batches.front(), action_R.data(), policy_R, reference_R ? &*reference_R : nullptr,
                                      std::move(value_R)}));

  const std::vector<float> dlogit_UA = SumByText(texts, of_R.dlogit_RA, policy_R.actions());
  const std::vector<float> dvalue_U = SumByText(texts, of_R.dvalue_R, 1);
  const int64_t width = network.heads.width();
  std::vector<float> dembedding_UD(embedding_UD.size());
  network.heads.Backward(RowsOf(embedding_UD, width), RowsOf(dlogit_UA, policy_R.actions()),
                         pass.value_loss ? dvalue_U.data() : nullptr, target.total,
                         {dembedding_UD.data(), texts.texts(), width}, &work->heads);
  sink.Report(encoder_specs, specs);
  models::StartShard(config, encoder.layout, target.total, target.open, &work->gradient);
  BackwardTexts(encoder, texts, dembedding_UD.data(), auxiliary_E, &sink, work);
  return result;
}

}  // namespace reprise::rl
