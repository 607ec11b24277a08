#include "models/morphogenesis/life_cycle/host_task.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace reprise::models {
namespace {

HostTask Cifar10() {
  HostTask task;
  task.name = "cifar10";
  task.shape.topology = Topology::kCnn;
  task.shape.cnn.base_channels = 8;  // weak on purpose: a seed can help
  task.batch_size = 128;
  task.max_epochs = 25;
  task.max_steps = 10000;
  task.baseline_loss = 2.3;
  task.target_loss = 0.3;
  task.loss_delta_std = 0.05;
  return task;
}

HostTask TinyStories() {
  HostTask task;
  task.name = "tinystories";
  task.shape.topology = Topology::kTransformer;
  task.batch_size = 32;
  task.max_epochs = 50;
  task.max_steps = 50000;
  task.baseline_loss = 10.8;
  task.target_loss = 3.5;
  task.loss_delta_std = 0.15;
  return task;
}

}  // namespace

absl::StatusOr<HostTask> FindHostTask(absl::string_view name) {
  for (HostTask task : {Cifar10(), TinyStories()}) {
    if (absl::EqualsIgnoreCase(task.name, name)) return task;
  }
  return absl::NotFoundError(absl::StrCat("Unknown task '", name, "'. Available: cifar10, tinystories"));
}

}  // namespace reprise::models
