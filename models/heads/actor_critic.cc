#include "models/heads/actor_critic.h"

#include "core/status/check.h"
#include "core/tensor/room.h"
#include "kernels/rows/elementwise.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::GradientChains;
using kernels::Rows;

constexpr double kTanhGain = 5.0 / 3, kReluGain = 1.4142135623730951;
constexpr double kFirstLogits = 0.01;

Rows RowsIn(Tensor& buffer, int64_t rows, int64_t width) { return {Room(buffer, rows * width), rows, width}; }

ConstRows RowsOf(const Tensor& buffer, int64_t rows, int64_t width) {
  return {buffer.data<float>().data(), rows, width};
}

// The widths of what the LSTM reads, and of what actor and critic read.
int64_t TrunkWidth(const ActorCriticShape& shape) { return shape.trunk.empty() ? shape.features : shape.trunk.back(); }
int64_t StateWidth(const ActorCriticShape& shape) { return shape.lstm > 0 ? shape.lstm : TrunkWidth(shape); }

Mlp Head(const ActorCriticShape& shape, int64_t outputs, absl::string_view name, FlatLayout* layout) {
  return Mlp({.inputs = StateWidth(shape),
              .hidden = shape.hidden,
              .outputs = outputs,
              .activation = shape.activation,
              .layer_norm = shape.layer_norm},
             name, layout);
}

std::optional<Mlp> Trunk(const ActorCriticShape& shape, FlatLayout* layout) {
  if (shape.trunk.empty()) return std::nullopt;
  return Mlp({.inputs = shape.features,
              .hidden = shape.trunk,
              .outputs = 0,
              .activation = shape.activation,
              .layer_norm = shape.layer_norm},
             "trunk", layout);
}

std::optional<Lstm> Memory(const ActorCriticShape& shape, FlatLayout* layout) {
  if (shape.lstm == 0) return std::nullopt;
  return Lstm(TrunkWidth(shape), shape.lstm, shape.lstm_chunk, "lstm", layout);
}

std::optional<Mlp> Critic(const ActorCriticShape& shape, FlatLayout* layout) {
  if (!shape.has_values) return std::nullopt;
  return Head(shape, 1, "value_model", layout);
}

int64_t BytesOf(const MlpBuffers& buffers) {
  int64_t bytes = 0;
  for (const MlpBuffers::Layer& layer : buffers.layers) {
    bytes += static_cast<int64_t>(layer.output.bytes().size() + layer.normal.bytes().size());
  }
  return bytes;
}

}  // namespace

int64_t ActorCriticBuffers::bytes() const {
  int64_t bytes = BytesOf(trunk) + BytesOf(actor) + BytesOf(critic) + lstm.bytes();
  for (const Tensor* tensor : {&trunk_output, &state, &dstate, &dcritic_state, &dtrunk_output}) {
    bytes += static_cast<int64_t>(tensor->bytes().size());
  }
  return bytes;
}

ActorCritic::ActorCritic(const ActorCriticShape& shape, FlatLayout* layout)
    : shape_(shape),
      trunk_(Trunk(shape, layout)),
      lstm_(Memory(shape, layout)),
      actor_(Head(shape, shape.actions, "policy", layout)),
      critic_(Critic(shape, layout)) {}

void ActorCritic::Initialize(uint64_t seed, InitialWeights kind, absl::Span<float> parameters) const {
  const double hidden = shape_.activation == Activation::kTanh ? kTanhGain : kReluGain;
  if (trunk_) trunk_->Initialize(seed, {.hidden = hidden, .kind = kind}, parameters);
  if (lstm_) lstm_->Initialize(seed, kind, parameters);
  actor_.Initialize(seed, {.hidden = hidden, .outputs = kFirstLogits, .kind = kind}, parameters);
  if (critic_) critic_->Initialize(seed, {.hidden = hidden, .kind = kind}, parameters);
}

void ActorCritic::Refresh(absl::Span<const float> parameters) {
  if (trunk_) trunk_->Refresh(parameters);
  if (lstm_) lstm_->Refresh(parameters);
  actor_.Refresh(parameters);
  if (critic_) critic_->Refresh(parameters);
}

void ActorCritic::Forward(const SequenceRows& rows, const Rows& logits, const Rows& values,
                          ActorCriticBuffers* buffers) const {
  ConstRows state = rows.x;
  if (trunk_) {
    const Rows output = RowsIn(lstm_ ? buffers->trunk_output : buffers->state, state.rows, TrunkWidth(shape_));
    trunk_->Forward(state, output, &buffers->trunk);
    state = output;
  }
  if (lstm_) {
    const Rows output = RowsIn(buffers->state, state.rows, shape_.lstm);
    lstm_->Forward(state, rows.length_S, output, &buffers->lstm);
    state = output;
  }
  if (logits.data != nullptr) actor_.Forward(state, logits, &buffers->actor);
  if (values.data == nullptr) return;
  CHECK(critic_.has_value());
  critic_->Forward(state, values, &buffers->critic);
}

void ActorCritic::Backward(const SequenceRows& rows, const ConstRows& dlogits, const ConstRows& dvalues,
                           const GradientChains& gradient, ActorCriticBuffers* buffers) const {
  const int64_t count = rows.x.rows;
  const bool is_shared = trunk_ || lstm_, with_values = dvalues.data != nullptr;
  const ConstRows state = is_shared ? RowsOf(buffers->state, count, StateWidth(shape_)) : rows.x;
  const Rows dstate = is_shared ? RowsIn(buffers->dstate, count, state.width) : Rows();
  actor_.Backward(state, dlogits, gradient, dstate, &buffers->actor);
  if (with_values) {
    const Rows dcritic = is_shared ? RowsIn(buffers->dcritic_state, count, state.width) : Rows();
    critic_->Backward(state, dvalues, gradient, dcritic, &buffers->critic);
    if (is_shared) kernels::Add(count * state.width, dstate.data, dcritic.data, dstate.data);
  }
  ConstRows dtrunk = dstate;
  if (lstm_) {
    const ConstRows input = trunk_ ? RowsOf(buffers->trunk_output, count, TrunkWidth(shape_)) : rows.x;
    const Rows dinput = trunk_ ? RowsIn(buffers->dtrunk_output, count, input.width) : Rows();
    lstm_->Backward(input, rows.length_S, dstate, gradient, dinput, &buffers->lstm);
    dtrunk = dinput;
  }
  if (trunk_) trunk_->Backward(rows.x, dtrunk, gradient, {}, &buffers->trunk);
}

void ActorCritic::Next(const ConstRows& x, LstmState* state, const Rows& logits) const {
  ActorCriticBuffers buffers;
  if (!lstm_) return Forward({x, {}}, logits, {}, &buffers);
  ConstRows input = x;
  if (trunk_) {
    const Rows output = RowsIn(buffers.trunk_output, 1, TrunkWidth(shape_));
    trunk_->Forward(x, output, &buffers.trunk);
    input = output;
  }
  const Rows output = RowsIn(buffers.state, 1, shape_.lstm);
  lstm_->Next(input, state, output);
  actor_.Forward(output, logits, &buffers.actor);
}

}  // namespace reprise::models
