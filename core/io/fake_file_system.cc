#include "core/io/fake_file_system.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise {

class FakeFile final : public File {
 public:
  FakeFile(FakeFileSystem& files, std::string path, std::shared_ptr<FakeFileSystem::Node> node, bool writable)
      : files_(files), path_(std::move(path)), node_(std::move(node)), writable_(writable) {}

  absl::Status Append(absl::string_view bytes) override {
    return Write(static_cast<int64_t>(node_->bytes.size()), bytes);
  }

  absl::Status WriteAt(int64_t offset, absl::string_view bytes) override { return Write(offset, bytes); }

  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t size) override {
    RETURN_IF_ERROR(files_.Call("read", path_, /*writes=*/false));
    const size_t begin = std::min(static_cast<size_t>(offset), node_->bytes.size());
    return node_->bytes.substr(begin, static_cast<size_t>(size));
  }

  absl::Status Sync() override {
    RETURN_IF_ERROR(files_.Call("sync", path_));
    node_->synced_bytes = node_->bytes;
    return absl::OkStatus();
  }

  absl::Status Close() override { return files_.Call("close", path_, /*writes=*/false); }

 private:
  absl::Status Write(int64_t offset, absl::string_view bytes) {
    CHECK(writable_);
    const absl::Status status = files_.Call("write", path_);
    if (!status.ok()) bytes = bytes.substr(0, bytes.size() / 2);
    const size_t begin = static_cast<size_t>(offset);
    if (node_->bytes.size() < begin + bytes.size()) node_->bytes.resize(begin + bytes.size());
    std::copy(bytes.begin(), bytes.end(), node_->bytes.begin() + static_cast<ptrdiff_t>(begin));
    return status;
  }

  FakeFileSystem& files_;
  const std::string path_;
  const std::shared_ptr<FakeFileSystem::Node> node_;
  const bool writable_;
};

FakeFileSystem::FakeFileSystem() {
  for (const char* root : {".", "/"}) names_[root] = std::make_shared<Node>(Node{.is_directory = true});
  synced_names_ = names_;
}

void FakeFileSystem::FailCall(int64_t call, int error_number, bool persistent) {
  failing_call_ = call;
  error_number_ = error_number;
  persistent_ = persistent;
}

absl::Status FakeFileSystem::Call(absl::string_view action, absl::string_view path, bool writes) {
  const int64_t call = calls();
  log_.push_back(absl::StrCat(action, " ", path));
  const bool fails = call == failing_call_ || (persistent_ && writes && failing_call_ >= 0 && call > failing_call_);
  return fails ? FileError(error_number_, action, path) : absl::OkStatus();
}

void FakeFileSystem::LosePower() {
  names_.clear();
  for (const auto& [path, node] : synced_names_) {
    if (!names_.contains(DirectoryOf(path)) && path != DirectoryOf(path)) continue;  // its directory was lost
    node->bytes = node->synced_bytes;
    names_[path] = node;
  }
  synced_names_ = names_;
}

absl::StatusOr<std::shared_ptr<FakeFileSystem::Node>> FakeFileSystem::Find(absl::string_view path) const {
  const auto it = names_.find(std::string(path));
  if (it == names_.end()) return FileError(ENOENT, "find", path);
  return it->second;
}

absl::Status FakeFileSystem::CheckParent(absl::string_view path) const {
  ASSIGN_OR_RETURN(const auto parent, Find(DirectoryOf(path)));
  return parent->is_directory ? absl::OkStatus() : FileError(ENOTDIR, "find", path);
}

absl::StatusOr<std::unique_ptr<File>> FakeFileSystem::Open(absl::string_view path, OpenMode mode, int) {
  RETURN_IF_ERROR(Call("open", path, /*writes=*/mode != OpenMode::kRead));
  const bool exists = names_.contains(std::string(path));
  if (mode == OpenMode::kCreate && exists) return FileError(EEXIST, "create", path);
  if (mode != OpenMode::kRead && !exists) {
    RETURN_IF_ERROR(CheckParent(path));
    names_[std::string(path)] = std::make_shared<Node>();
  }
  ASSIGN_OR_RETURN(auto node, Find(path));
  if (node->is_directory) return FileError(EISDIR, "open", path);
  return std::make_unique<FakeFile>(*this, std::string(path), std::move(node), mode != OpenMode::kRead);
}

absl::Status FakeFileSystem::RenameNoReplace(absl::string_view from, absl::string_view to) {
  RETURN_IF_ERROR(Call("rename", absl::StrCat(from, " ", to)));
  ASSIGN_OR_RETURN(auto node, Find(from));
  RETURN_IF_ERROR(CheckParent(to));
  if (names_.contains(std::string(to))) return FileError(EEXIST, "rename a file to", to);
  names_[std::string(to)] = std::move(node);
  names_.erase(std::string(from));
  return absl::OkStatus();
}

absl::Status FakeFileSystem::Link(absl::string_view existing, absl::string_view name) {
  RETURN_IF_ERROR(Call("link", absl::StrCat(existing, " ", name)));
  ASSIGN_OR_RETURN(auto node, Find(existing));
  RETURN_IF_ERROR(CheckParent(name));
  if (names_.contains(std::string(name))) return FileError(EEXIST, "link a file to", name);
  names_[std::string(name)] = std::move(node);
  return absl::OkStatus();
}

absl::Status FakeFileSystem::Unlink(absl::string_view path) {
  RETURN_IF_ERROR(Call("unlink", path, /*writes=*/false));
  ASSIGN_OR_RETURN(const auto node, Find(path));
  if (node->is_directory) return FileError(EISDIR, "remove", path);
  names_.erase(std::string(path));
  return absl::OkStatus();
}

absl::Status FakeFileSystem::CreateDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Call("mkdir", path));
  if (names_.contains(std::string(path))) return FileError(EEXIST, "create the directory", path);
  RETURN_IF_ERROR(CheckParent(path));
  names_[std::string(path)] = std::make_shared<Node>(Node{.is_directory = true});
  return absl::OkStatus();
}

absl::Status FakeFileSystem::RemoveDirectory(absl::string_view path) {
  RETURN_IF_ERROR(Call("rmdir", path, /*writes=*/false));
  ASSIGN_OR_RETURN(const auto node, Find(path));
  if (!node->is_directory) return FileError(ENOTDIR, "remove the directory", path);
  if (!NamesIn(path).empty()) return FileError(ENOTEMPTY, "remove the directory", path);
  names_.erase(std::string(path));
  return absl::OkStatus();
}

std::vector<std::string> FakeFileSystem::NamesIn(absl::string_view directory) const {
  std::vector<std::string> names;
  for (const auto& [path, node] : names_) {
    if (path != directory && DirectoryOf(path) == directory && path != ".") {
      names.push_back(path.substr(path.rfind('/') + 1));
    }
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> FakeFileSystem::List(absl::string_view path) {
  RETURN_IF_ERROR(Call("list", path, /*writes=*/false));
  ASSIGN_OR_RETURN(const auto node, Find(path));
  if (!node->is_directory) return FileError(ENOTDIR, "list", path);
  return NamesIn(path);
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
  const auto is_in = [&](const auto& entry) { return entry.first != path && DirectoryOf(entry.first) == path; };
  std::erase_if(synced_names_, is_in);
  for (const auto& entry : names_) {
    if (is_in(entry)) synced_names_.insert(entry);
  }
  return absl::OkStatus();
}

}  // namespace reprise
