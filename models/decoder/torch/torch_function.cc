#include "models/decoder/torch/torch_function.h"

#include <cstring>

#include "ATen/ops/empty.h"
#include "ATen/ops/from_blob.h"
#include "ATen/ops/zeros.h"
#include "c10/util/Logging.h"  // its CHECK, which check.h would redefine, also prints and aborts
#include "torch/csrc/autograd/custom_function.h"

namespace reprise::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The results of a forward pass that its backward pass reads; owned by the graph's node.
struct Pass : torch::CustomClassHolder {
  Pass(const Model& model, const PackedBatch& batch)
      : model(model), batch(batch), activations(model.config(), /*training=*/true) {}

  const Model& model;
  const PackedBatch batch;
  Activations activations;
  bool fresh = false;  // no backward pass has used the activations yet
};

void RunForward(Pass* pass) {
  Forward(pass->model.decoder(), pass->batch, nullptr, &pass->activations);
  pass->fresh = true;
}

// Returns gradients by all parameters: views of one array in the parameters' layout.
variable_list RunBackward(const at::Tensor& dhidden_TD, Pass* pass) {
  // Backward adds to the activations' gradients of keys and values, so a retained graph must run forward again.
  if (!pass->fresh) RunForward(pass);
  pass->fresh = false;
  const DecoderLayout& layout = pass->model.layout();
  at::Tensor total = at::zeros({layout.total}, at::kFloat);  // zero: no head of ours adds to the lm-head's gradient
  ShardGradient gradient;
  StartShard(pass->model.config(), layout, total.mutable_data_ptr<float>(), nullptr, &gradient);
  at::Tensor destroyed_TD = dhidden_TD.to(at::kFloat).contiguous().clone();
  Backward(pass->model.decoder(), {}, &pass->activations, nullptr, destroyed_TD.mutable_data_ptr<float>(), {&gradient});
  variable_list gradients;
  const int num_used = layout.adapters.empty() ? layout.final_norm + 1 : layout.policy_specs;
  for (size_t i = 0; i < layout.specs.size(); ++i) {
    const ParameterSpec& spec = layout.specs[i];
    const bool used = static_cast<int>(i) < num_used;
    gradients.push_back(used ? total.narrow(0, spec.offset, spec.size).view(spec.shape) : at::Tensor());
  }
  return gradients;
}

class DecoderFunction : public torch::autograd::Function<DecoderFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const c10::intrusive_ptr<Pass>& pass, at::TensorList) {
    RunForward(pass.get());
    const int64_t rows = pass->batch.rows(), width = pass->model.config().hidden_size;
    at::Tensor hidden_TD = at::empty({rows, width}, at::kFloat);
    std::memcpy(hidden_TD.mutable_data_ptr<float>(), pass->activations.hidden_TD().data,
                static_cast<size_t>(rows * width) * sizeof(float));
    context->saved_data["pass"] = c10::IValue::make_capsule(pass);
    return hidden_TD;
  }

  static variable_list backward(AutogradContext* context, variable_list dhidden) {
    CHECK(!at::GradMode::is_enabled());  // no create_graph: the decoder has no second derivatives
    const auto capsule = context->saved_data["pass"].toCapsule();
    variable_list gradients = RunBackward(dhidden[0], static_cast<Pass*>(capsule.get()));
    gradients.insert(gradients.begin(), at::Tensor());  // the gradient by `pass`
    return gradients;
  }
};

void CheckParameters(const Model& model, const std::vector<at::Tensor>& parameters) {
  const DecoderLayout& layout = model.layout();
  CHECK(parameters.size() == layout.specs.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    CHECK(parameters[i].const_data_ptr<float>() == model.parameters().data() + layout.specs[i].offset);
    CHECK(parameters[i].sizes() == at::IntArrayRef(layout.specs[i].shape));
  }
}

}  // namespace

std::vector<at::Tensor> TorchParameters(Model* model) {
  std::vector<at::Tensor> parameters;
  for (const ParameterSpec& spec : model->layout().specs) {
    float* const data = model->mutable_parameters().data() + spec.offset;
    parameters.push_back(at::from_blob(data, spec.shape, at::kFloat).requires_grad_());
  }
  return parameters;
}

at::Tensor DecoderHidden(const Model& model, const PackedBatch& batch, const std::vector<at::Tensor>& parameters) {
  CheckParameters(model, parameters);
  return DecoderFunction::apply(c10::make_intrusive<Pass>(model, batch), at::TensorList(parameters));
}

at::Tensor DecoderHidden(const Model& model, const at::Tensor& tokens_T, const std::vector<at::Tensor>& parameters) {
  CHECK(tokens_T.dim() == 1);
  const at::Tensor dense_T = tokens_T.contiguous();
  const int64_t* const token_T = dense_T.const_data_ptr<int64_t>();
  PackedBatch batch;
  batch.segments.push_back({0, tokens_T.numel(), kNoPrefix});
  for (int64_t t = 0; t < tokens_T.numel(); ++t) {
    batch.token_T.push_back(static_cast<int32_t>(token_T[t]));
    batch.position_T.push_back(static_cast<int32_t>(t));
  }
  return DecoderHidden(model, batch, parameters);
}

}  // namespace reprise::models
