#include "models/lora/adapter_weights.h"

#include <cstring>

#include "core/status/check.h"

namespace reprise::models {
namespace {

Adapter ShapeOf(const AdapterLayout& of, const AdapterParameters& parameters) {
  Adapter adapter;
  if (parameters.a < 0) return adapter;
  adapter.rank = of.config.r;
  adapter.in = of.layout.specs[parameters.a].shape[1];
  adapter.out = of.layout.specs[parameters.b].shape[0];
  adapter.scale = of.config.scale();
  adapter.dropout = Dropout::Of(of.config.dropout, static_cast<uint64_t>(parameters.a));
  return adapter;
}

}  // namespace

AdapterWeights::AdapterWeights(const AdapterLayout& layout, const float* flat) : layers_(layout.layers.size()) {
  const LoraConfig& config = layout.config;
  const bool in_experts =
      config.Targets(LoraModule::kGate) || config.Targets(LoraModule::kUp) || config.Targets(LoraModule::kDown);
  const auto add = [&](const AdapterParameters& parameters, Adapter* adapter) {
    *adapter = ShapeOf(layout, parameters);
    if (!adapter->exists()) return;
    const auto at = [&](int spec) { return flat + layout.layout.specs[spec].offset; };
    places_.push_back({adapter, parameters, at(parameters.a), at(parameters.b), floats_});
    floats_ += PackedAdapterFloats(*adapter);
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerAdapterParameters& of = layout.layers[i];
    LayerAdapters& layer = layers_[i];
    add(of.q, &layer.q);
    add(of.k, &layer.k);
    add(of.v, &layer.v);
    add(of.o, &layer.o);
    if (!in_experts) continue;
    for (std::vector<Adapter>* const adapter_E : {&layer.gate_E, &layer.up_E, &layer.down_E}) {
      adapter_E->resize(of.gate_E.size());
    }
    for (size_t e = 0; e < of.gate_E.size(); ++e) {
      add(of.gate_E[e], &layer.gate_E[e]);
      add(of.up_E[e], &layer.up_E[e]);
      add(of.down_E[e], &layer.down_E[e]);
    }
  }
}

void AdapterWeights::Refresh(ThreadPool& pool) {
  if (copy_ == nullptr || copy_.use_count() > 1)
    copy_ = std::make_shared<Tensor>("adapters", DType::kF32, Shape{floats_});
  float* const packed = copy_->mutable_data<float>().data();
  pool.ForEach(static_cast<int64_t>(places_.size()), [&](int64_t index, int) {
    const Place& place = places_[index];
    PackAdapter(place.a, place.b, packed + place.offset, place.adapter);
  });
}

void AdapterWeights::Share(const AdapterWeights& other) {
  CHECK(other.copy_ != nullptr);
  CHECK_EQ(places_.size(), other.places_.size());
  copy_ = other.copy_;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Adapter& from = *other.places_[i].adapter;
    Adapter& to = *places_[i].adapter;
    to.a = from.a;
    to.a_transposed = from.a_transposed;
    to.b = from.b;
    to.b_transposed = from.b_transposed;
  }
}

int AdapterWeights::FirstDamage() const {
  const float* const packed = copy_->data<float>().data();
  for (const Place& place : places_) {
    Adapter again = *place.adapter;
    Tensor copy("", DType::kF32, {PackedAdapterFloats(again)});
    float* const expected = copy.mutable_data<float>().data();
    PackAdapter(place.a, place.b, expected, &again);
    // The two copies of B come after those of A.
    const int64_t of_b = again.b.floats() - expected;
    const auto same = [&](int64_t begin, int64_t end) {
      return std::memcmp(packed + place.offset + begin, expected + begin,
                         static_cast<size_t>(end - begin) * sizeof(float)) == 0;
    };
    if (!same(0, of_b)) return place.specs.a;
    if (!same(of_b, copy.size())) return place.specs.b;
  }
  return -1;
}

int64_t AdapterWeights::Bytes(const AdapterLayout& layout) {
  int64_t floats = 0;
  const auto add = [&](const AdapterParameters& parameters) {
    if (parameters.a >= 0) floats += PackedAdapterFloats(ShapeOf(layout, parameters));
  };
  for (const LayerAdapterParameters& layer : layout.layers) {
    for (const AdapterParameters& adapter : {layer.q, layer.k, layer.v, layer.o}) add(adapter);
    for (const std::vector<AdapterParameters>* const adapter_E : {&layer.gate_E, &layer.up_E, &layer.down_E}) {
      for (const AdapterParameters& adapter : *adapter_E) add(adapter);
    }
  }
  return floats * static_cast<int64_t>(sizeof(float));
}

}  // namespace reprise::models
