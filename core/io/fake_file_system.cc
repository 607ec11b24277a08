#include "core/io/fake_file_system.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise {

namespace {

absl::Status Dead() { return absl::AbortedError("the process was killed"); }

}  // namespace

class FakeFile final : public File {
 public:
  FakeFile(FakeFileSystem& files, std::string path, FakeFileSystem::Node node, bool writable)
      : files_(files), path_(std::move(path)), node_(std::move(node)), writable_(writable), process_(files.process_) {}

  absl::Status Append(absl::string_view bytes) override {
    return Write(static_cast<int64_t>(node_->bytes.size()), bytes);
  }

  absl::Status WriteAt(int64_t offset, absl::string_view bytes) override { return Write(offset, bytes); }

  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t size) override {
    RETURN_IF_ERROR(Call("read", /*writes=*/false));
    const size_t begin = std::min(static_cast<size_t>(offset), node_->bytes.size());
    return node_->bytes.substr(begin, static_cast<size_t>(size));
  }

  absl::Status Sync() override {
    RETURN_IF_ERROR(Call("sync"));
    node_->Sync();
    return absl::OkStatus();
  }

  absl::Status Close() override { return Call("close", /*writes=*/false); }

 private:
  absl::Status Call(absl::string_view action, bool writes = true) {
    if (process_ != files_.process_) return files_.leaves_half_ = false, Dead();
    return files_.Call(action, path_, writes);
  }

  absl::Status Write(int64_t offset, absl::string_view bytes) {
    CHECK(writable_);
    const absl::Status status = Call("write");
    const size_t half = bytes.size() / 2;
    if (status.ok() && files_.watcher_ != nullptr) {
      node_->Write(offset, bytes.substr(0, half));
      files_.watcher_(true);
      node_->ExtendWrite(bytes.substr(half));
    } else if (status.ok() || files_.leaves_half_) {
      node_->Write(offset, status.ok() ? bytes : bytes.substr(0, half));
    }
    return status;
  }

  FakeFileSystem& files_;
  const std::string path_;
  const FakeFileSystem::Node node_;
  const bool writable_;
  const int64_t process_;
};

FakeFileSystem::FakeFileSystem() = default;

void FakeFileSystem::FailCall(int64_t call, int error_number, bool persistent) {
  failing_call_ = call;
  error_number_ = error_number;
  persistent_ = persistent;
}

void FakeFileSystem::Kill(int64_t call, bool torn) {
  killing_call_ = call;
  is_torn_ = torn;
}

void FakeFileSystem::Interrupt(int64_t call, std::function<void()> action) {
  interrupted_call_ = call;
  interruption_ = std::move(action);
}

absl::Status FakeFileSystem::Call(absl::string_view action, absl::string_view path, bool writes) {
  leaves_half_ = false;
  if (is_killed_) return Dead();
  if (calls() == interrupted_call_) {
    interrupted_call_ = -1;
    interruption_();
  }
  if (watcher_ != nullptr) watcher_(false);
  const int64_t call = calls();
  if (call == killing_call_) {
    is_killed_ = true;
    leaves_half_ = is_torn_;
    return Dead();
  }
  log_.push_back(absl::StrCat(action, " ", path));
  leaves_half_ = call == failing_call_ || (persistent_ && writes && failing_call_ >= 0 && call > failing_call_);
  return leaves_half_ ? FileError(error_number_, action, path) : absl::OkStatus();
}

void FakeFileSystem::Restart() {
  FailCall(-1, 0);
  Kill(-1, false);
  Interrupt(-1, nullptr);
  Watch(nullptr);
  is_killed_ = false;
  ++process_;
}

void FakeFileSystem::LosePower() {
  Restart();
  storage_.LosePower();
}

void FakeFileSystem::LosePower(uint64_t seed) {
  Restart();
  storage_.LosePower(seed);
}

std::unique_ptr<FakeFileSystem> FakeFileSystem::Copy() const {
  auto copy = std::make_unique<FakeFileSystem>();
  copy->storage_ = storage_.Copy();
  return copy;
}

absl::StatusOr<FakeFileSystem::Node> FakeFileSystem::Find(absl::string_view path) const {
  Node node = storage_.Find(path);
  if (node == nullptr) return FileError(ENOENT, "find", path);
  return node;
}

absl::Status FakeFileSystem::CheckParent(absl::string_view path) const {
  ASSIGN_OR_RETURN(const auto parent, Find(DirectoryOf(path)));
  return parent->is_directory ? absl::OkStatus() : FileError(ENOTDIR, "find", path);
}

absl::StatusOr<std::unique_ptr<File>> FakeFileSystem::Open(absl::string_view path, OpenMode mode, int) {
  RETURN_IF_ERROR(Call("open", path, /*writes=*/mode != OpenMode::kRead));
  const bool exists = storage_.Find(path) != nullptr;
  if (mode == OpenMode::kCreate && exists) return FileError(EEXIST, "create", path);
  if (mode != OpenMode::kRead && !exists) {
    RETURN_IF_ERROR(CheckParent(path));
    storage_.Add(path, std::make_shared<internal::FakeNode>());
  }
  ASSIGN_OR_RETURN(auto node, Find(path));
  if (node->is_directory) return FileError(EISDIR, "open", path);
  return std::make_unique<FakeFile>(*this, std::string(path), std::move(node), mode != OpenMode::kRead);
}

absl::Status FakeFileSystem::RenameNoReplace(absl::string_view from, absl::string_view to) {
  RETURN_IF_ERROR(Call("rename", absl::StrCat(from, " ", to)));
  RETURN_IF_ERROR(Find(from).status());
  RETURN_IF_ERROR(CheckParent(to));
  if (storage_.Find(to) != nullptr) return FileError(EEXIST, "rename a file to", to);
  storage_.Rename(from, to);
  return absl::OkStatus();
}

absl::Status FakeFileSystem::Link(absl::string_view existing, absl::string_view name) {
  RETURN_IF_ERROR(Call("link", absl::StrCat(existing, " ", name)));
  ASSIGN_OR_RETURN(auto node, Find(existing));
  RETURN_IF_ERROR(CheckParent(name));
  if (storage_.Find(name) != nullptr) return FileError(EEXIST, "link a file to", name);
  storage_.Add(name, std::move(node));
  return absl::OkStatus();
}

absl::Status FakeFileSystem::Unlink(absl::string_view path) {
  RETURN_IF_ERROR(Call("unlink", path, /*writes=*/false));
  ASSIGN_OR_RETURN(const auto node, Find(path));
  if (node->is_directory) return FileError(EISDIR, "remove", path);
  storage_.Remove(path);
  return absl::OkStatus();
}

absl::Status FakeFileSystem::CreateDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Call("mkdir", path));
  if (storage_.Find(path) != nullptr) return FileError(EEXIST, "create the directory", path);
  RETURN_IF_ERROR(CheckParent(path));
  const Node node = std::make_shared<internal::FakeNode>();
  node->is_directory = true;
  storage_.Add(path, node);
  return absl::OkStatus();
}

absl::Status FakeFileSystem::RemoveDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Call("rmdir", path, /*writes=*/false));
  ASSIGN_OR_RETURN(const auto node, Find(path));
  if (!node->is_directory) return FileError(ENOTDIR, "remove the directory", path);
  if (!storage_.NamesIn(path).empty()) return FileError(ENOTEMPTY, "remove the directory", path);
  storage_.Remove(path);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FakeFileSystem::List(absl::string_view path) {
  RETURN_IF_ERROR(Call("list", path, /*writes=*/false));
  ASSIGN_OR_RETURN(const auto node, Find(path));
  if (!node->is_directory) return FileError(ENOTDIR, "list", path);
  return storage_.NamesIn(path);
}

absl::StatusOr<FileInfo> FakeFileSystem::Stat(absl::string_view path) {
  RETURN_IF_ERROR(Call("stat", path, /*writes=*/false));
  ASSIGN_OR_RETURN(const auto node, Find(path));
  return FileInfo{.is_directory = node->is_directory, .size = static_cast<int64_t>(node->bytes.size())};
}

absl::Status FakeFileSystem::SyncDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Call("syncdir", path));
  ASSIGN_OR_RETURN(const auto node, Find(path));
  if (!node->is_directory) return FileError(ENOTDIR, "sync the directory", path);
  storage_.SyncDirectory(path);
  return absl::OkStatus();
}

}  // namespace reprise
