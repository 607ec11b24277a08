// The state of a session as named tensors. Names: host.*, momentum.host.*, fossil.K.*, seed.*, momentum.seed.*,
// resting.* (of a seed whose cull is not over), session.*.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/morphogenesis/guarded.h"
#include "models/morphogenesis/network_session.h"
#include "models/morphogenesis/networks/autograd_node.h"

namespace reprise::models {
namespace {

std::vector<int64_t> ShapeNumbers(const HostShape& shape, size_t point) {
  const CnnShape& c = shape.cnn;
  const TransformerShape& t = shape.transformer;
  const auto where = static_cast<int64_t>(point);
  if (shape.topology == Topology::kCnn) {
    return {0, where, c.num_classes, c.num_blocks, c.base_channels, c.image_size, c.image_channels};
  }
  return {1, where, t.vocab_size, t.width, t.num_heads, t.num_layers, t.block_size};
}

void WriteTensors(const std::string& prefix, const NamedTensors& tensors, StoredTensorWriter* writer) {
  for (const NamedTensor& t : tensors) writer->Floats(prefix + t.name, t.tensor.sizes().vec(), Data(t.tensor));
}

// Values that are not yet where they belong: nothing changes before everything is read.
struct Pending {
  at::Tensor to;
  absl::Span<const float> values;
};

absl::Status ReadTensors(const std::string& prefix, const NamedTensors& tensors, StoredTensorReader* reader,
                         std::vector<Pending>* pending) {
  for (const NamedTensor& t : tensors) {
    ASSIGN_OR_RETURN(const absl::Span<const float> values, reader->Floats(prefix + t.name, t.tensor.sizes().vec()));
    pending->push_back({t.tensor, values});
  }
  return absl::OkStatus();
}

// Builds a stored seed's network and reads its parameters.
absl::StatusOr<Fossil> ReadModule(const std::string& prefix, const std::string& blueprint_id, const Slot& slot,
                                  const HostShape& shape, StoredTensorReader* reader, std::vector<Pending>* pending) {
  Fossil built;
  ASSIGN_OR_RETURN(built.blueprint, FindBlueprint(shape.topology, blueprint_id));
  ASSIGN_OR_RETURN(std::shared_ptr<SeedModule> module,
                   BuildSeed(shape.topology, built.blueprint, slot.point().channels, {}, 0));
  RETURN_IF_ERROR(ReadTensors(prefix, module->parameters(), reader, pending));
  built.module = std::move(module);
  return built;
}

std::string FossilPrefix(size_t index) { return absl::StrCat("fossil.", index, "."); }

struct Counters {
  int64_t epochs = 0, batches = 0, seeds_germinated = 0, embargo_remaining = 0, fossils = 0;
  int64_t has_seed = 0, has_seed_sgd = 0, has_resting = 0, has_accuracy = 0;
};

std::vector<int64_t> NumbersOf(const Counters& c) {
  return {c.epochs,   c.batches,      c.seeds_germinated, c.embargo_remaining, c.fossils,
          c.has_seed, c.has_seed_sgd, c.has_resting,      c.has_accuracy};
}

absl::StatusOr<Counters> ReadCounters(StoredTensorReader* reader) {
  ASSIGN_OR_RETURN(const absl::Span<const int64_t> n, reader->Integers("session.counters", 9));
  const bool positive = std::all_of(n.begin(), n.end(), [](int64_t value) { return value >= 0; });
  const bool flags = std::all_of(n.begin() + 5, n.end(), [](int64_t value) { return value <= 1; });
  const bool one_seed = !(n[5] == 1 && n[7] == 1) && n[6] <= n[5];
  if (!positive || !flags || !one_seed || n[1] >= int64_t{1} << 32 || n[2] > kMostSeeds || n[4] > kMostSeeds ||
      n[3] > 1 << 30) {
    return absl::DataLossError("the counters of a host's state are damaged");
  }
  return Counters{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]};
}

absl::Status CheckShape(const HostShape& shape, size_t point, StoredTensorReader* reader) {
  const std::vector<int64_t> ours = ShapeNumbers(shape, point);
  ASSIGN_OR_RETURN(const absl::Span<const int64_t> stored,
                   reader->Integers("session.shape", static_cast<int64_t>(ours.size())));
  if (std::equal(ours.begin(), ours.end(), stored.begin(), stored.end())) return absl::OkStatus();
  return absl::FailedPreconditionError("the state is of a host of another shape, or with another slot");
}

absl::StatusOr<SlotContents> ReadSlot(const Counters& counters, const Slot& slot, const HostShape& shape,
                                      StoredTensorReader* reader, std::vector<Pending>* pending) {
  SlotContents contents;
  contents.embargo_remaining = static_cast<int>(counters.embargo_remaining);
  contents.seeds_germinated = static_cast<int>(counters.seeds_germinated);
  for (size_t i = 0; i < static_cast<size_t>(counters.fossils); ++i) {
    ASSIGN_OR_RETURN(const std::string blueprint, reader->Text(FossilPrefix(i) + "blueprint"));
    ASSIGN_OR_RETURN(Fossil fossil, ReadModule(FossilPrefix(i), blueprint, slot, shape, reader, pending));
    contents.fossils.push_back(std::move(fossil));
  }
  if (counters.has_resting == 1) {
    ASSIGN_OR_RETURN(contents.resting, reader->Seed("resting.", slot.point().slot_id));
  }
  if (counters.has_seed == 1) {
    ASSIGN_OR_RETURN(contents.seed, reader->Seed("seed.", slot.point().slot_id));
    ASSIGN_OR_RETURN(Fossil seed, ReadModule("seed.", contents.seed->blueprint_id, slot, shape, reader, pending));
    contents.module = std::const_pointer_cast<SeedModule>(seed.module);
  }
  return contents;
}

}  // namespace

void SessionParts::Write(StoredTensorWriter* writer) const {
  const SlotContents contents = slot.Contents();
  Counters counters = {epochs, batches, contents.seeds_germinated, contents.embargo_remaining};
  counters.fossils = static_cast<int64_t>(contents.fossils.size());
  counters.has_seed = contents.seed.has_value() ? 1 : 0;
  counters.has_seed_sgd = seed_sgd != nullptr ? 1 : 0;
  counters.has_resting = contents.resting.has_value() ? 1 : 0;
  counters.has_accuracy = accuracy.has_value() ? 1 : 0;
  writer->Integers("session.shape", ShapeNumbers(options.task.shape, point));
  writer->Integers("session.counters", NumbersOf(counters));
  writer->Doubles("session.accuracy", {accuracy.value_or(0)});
  WriteTensors("", HostTensors(), writer);
  for (size_t i = 0; i < contents.fossils.size(); ++i) {
    writer->Text(FossilPrefix(i) + "blueprint", contents.fossils[i].blueprint.name);
    WriteTensors(FossilPrefix(i), contents.fossils[i].module->parameters(), writer);
  }
  if (contents.resting.has_value()) writer->Seed("resting.", *contents.resting);
  if (!contents.seed.has_value()) return;
  writer->Seed("seed.", *contents.seed);
  WriteTensors("seed.", contents.module->parameters(), writer);
  if (seed_sgd != nullptr) WriteTensors("momentum.seed.", seed_sgd->momentum(), writer);
}

absl::Status SessionParts::Read(StoredTensorReader* reader) {
  RETURN_IF_ERROR(CheckShape(options.task.shape, point, reader));
  ASSIGN_OR_RETURN(const Counters counters, ReadCounters(reader));
  ASSIGN_OR_RETURN(const absl::Span<const double> recorded, reader->Doubles("session.accuracy", 1));
  std::vector<Pending> pending;
  RETURN_IF_ERROR(ReadTensors("", HostTensors(), reader, &pending));
  ASSIGN_OR_RETURN(SlotContents contents, ReadSlot(counters, slot, options.task.shape, reader, &pending));
  std::unique_ptr<Sgd> sgd;
  if (counters.has_seed_sgd == 1) {
    sgd = std::make_unique<Sgd>(contents.module->parameters(), options.seed_sgd);
    RETURN_IF_ERROR(ReadTensors("momentum.seed.", sgd->momentum(), reader, &pending));
  }
  RETURN_IF_ERROR(reader->ExpectAllRead());
  for (const Pending& p : pending) std::copy(p.values.begin(), p.values.end(), MutableData(p.to));
  slot.SetContents(std::move(contents));
  seed_sgd = std::move(sgd);
  epochs = counters.epochs;
  batches = counters.batches;
  slot.SetEpoch(epochs);
  accuracy = counters.has_accuracy == 1 ? std::optional<double>(recorded[0]) : std::nullopt;
  return absl::OkStatus();
}

std::vector<Tensor> NetworkSession::State() const {
  StoredTensorWriter writer;
  impl_->Write(&writer);
  return writer.Take();
}

absl::Status NetworkSession::Load(absl::Span<const TensorView> state) {
  return Guarded([&]() -> absl::Status {
    ASSIGN_OR_RETURN(StoredTensorReader reader, StoredTensorReader::Create(state));
    return impl_->Read(&reader);
  });
}

std::vector<Tensor> NetworkSession::Weights() const {
  StoredTensorWriter writer;
  WriteTensors("host.", impl_->host->parameters(), &writer);
  WriteTensors("host.", impl_->host->buffers(), &writer);
  const SlotContents contents = impl_->slot.Contents();
  for (size_t i = 0; i < contents.fossils.size(); ++i) {
    WriteTensors(FossilPrefix(i), contents.fossils[i].module->parameters(), &writer);
  }
  if (contents.module != nullptr) WriteTensors("seed.", contents.module->parameters(), &writer);
  return writer.Take();
}

}  // namespace reprise::models
