#include "models/morphogenesis/networks/autograd_node.h"

#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/zeros.h"
#include "c10/util/Logging.h"  // its CHECK, which check.h would redefine, also prints and aborts
#include "torch/csrc/autograd/custom_function.h"

namespace reprise::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct NodeHolder : torch::CustomClassHolder {
  NodeHolder(at::Tensor y, BackwardFunction backward) : y(std::move(y)), backward(std::move(backward)) {}

  at::Tensor y;  // until forward returns it
  const BackwardFunction backward;
};

class NodeFunction : public torch::autograd::Function<NodeFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const c10::intrusive_ptr<NodeHolder>& node,
                            at::TensorList inputs) {
    context->saved_data["inputs"] = static_cast<int64_t>(inputs.size());
    context->saved_data["node"] = c10::IValue::make_capsule(node);
    return std::exchange(node->y, at::Tensor());
  }

  static variable_list backward(AutogradContext* context, variable_list dy) {
    CHECK(!at::GradMode::is_enabled());  // no create_graph: there are no second derivatives
    const auto capsule = context->saved_data["node"].toCapsule();
    const auto* const node = static_cast<const NodeHolder*>(capsule.get());
    const size_t inputs = static_cast<size_t>(context->saved_data["inputs"].toInt());
    std::vector<bool> needed;
    for (size_t i = 0; i < inputs; ++i) needed.push_back(context->needs_input_grad(i));
    variable_list gradients = node->backward(dy[0].contiguous(), needed);
    gradients.insert(gradients.begin(), at::Tensor());  // the gradient by `node`
    return gradients;
  }
};

}  // namespace

at::Tensor Differentiable(const Tensors& inputs, at::Tensor y, BackwardFunction backward) {
  bool needed = false;
  for (const at::Tensor& input : inputs) needed = needed || input.requires_grad();
  if (!needed || !at::GradMode::is_enabled()) return y;
  return NodeFunction::apply(c10::make_intrusive<NodeHolder>(std::move(y), std::move(backward)),
                             at::TensorList(inputs));
}

at::Tensor NewFloats(at::IntArrayRef shape) { return at::empty(shape, at::kFloat); }

at::Tensor NewLike(const at::Tensor& x) { return NewFloats(x.sizes()); }

at::Tensor NewZerosLike(const at::Tensor& x) { return at::zeros(x.sizes(), at::kFloat); }

kernels::Rows MutableRowsOf(const at::Tensor& x) {
  CHECK(x.scalar_type() == at::kFloat && x.is_contiguous());
  const int64_t width = x.dim() == 0 ? 1 : x.size(-1);
  return {x.mutable_data_ptr<float>(), width == 0 ? 0 : x.numel() / width, width};
}

kernels::ConstRows RowsOf(const at::Tensor& x) {
  CHECK(x.scalar_type() == at::kFloat && x.is_contiguous());
  const int64_t width = x.dim() == 0 ? 1 : x.size(-1);
  return {x.const_data_ptr<float>(), width == 0 ? 0 : x.numel() / width, width};
}

}  // namespace reprise::models
