#include "rl/learner/reference.h"

#include <algorithm>

#include "core/status/check.h"

namespace reprise::rl {

std::unique_ptr<models::Model> FrozenCopy(const models::Model& model) {
  models::DecoderConfig config = model.config();
  config.value_model = models::ValueModel::kNone;
  std::unique_ptr<models::Model> copy = models::Model::Create(config, /*training=*/false);
  std::copy_n(model.parameters().begin(), copy->layout().total, copy->mutable_parameters().begin());
  CHECK(copy->ShareIfEqual(model));
  return copy;
}

void SyncReference(const models::Model& policy, double alpha, ThreadPool& pool, models::Model* reference) {
  const float share = static_cast<float>(alpha), rest = static_cast<float>(1.0 - alpha);
  const absl::Span<const float> from = policy.parameters();
  const absl::Span<float> to = reference->mutable_parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i] = alpha == 1.0 ? from[i] : share * from[i] + rest * to[i];
  if (!reference->ShareIfEqual(policy)) reference->Refresh(pool);
}

}  // namespace reprise::rl
