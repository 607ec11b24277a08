#include "core/io/atomic_file.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

constexpr char kTemporary[] = ".tmp-";

// Returns whether a text is what TemporaryName appends after kTemporary: a process id, a hexadecimal number, a count.
bool IsTemporaryEnding(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '-');
  const auto all = [](absl::string_view part, bool (*is_digit)(unsigned char)) {
    return !part.empty() && part.size() <= 10 && std::all_of(part.begin(), part.end(), is_digit);
  };
  return parts.size() == 3 && all(parts[0], absl::ascii_isdigit) && all(parts[1], absl::ascii_isxdigit) &&
         all(parts[2], absl::ascii_isdigit);
}

}  // namespace

uint32_t DrawNumber() { return std::random_device{}(); }

std::string TemporaryName(absl::string_view path) {
  // Process ids repeat across hosts and containers, so a random number is added.
  static const uint32_t process = DrawNumber();
  static std::atomic<int> count = 0;
  return absl::StrFormat("%s%s%d-%08x-%d", path, kTemporary, ::getpid(), process, count.fetch_add(1));
}

absl::string_view FinalName(absl::string_view name) {
  const size_t end = name.rfind(kTemporary);
  const bool is_temporary =
      end != absl::string_view::npos && IsTemporaryEnding(name.substr(end + absl::string_view(kTemporary).size()));
  return is_temporary ? name.substr(0, end) : name;
}

absl::StatusOr<AtomicFile> AtomicFile::Create(FileSystem& files, absl::string_view path, int permissions) {
  std::string temporary = TemporaryName(path);
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.Open(temporary, OpenMode::kCreate, permissions));
  return AtomicFile(files, path, std::move(temporary), std::move(file));
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  file_.reset();
  files_->Unlink(temporary_).IgnoreError();  // the original error is the one to report
}

absl::Status AtomicFile::Commit() {
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(file_->Close());
  RETURN_IF_ERROR(files_->RenameNoReplace(temporary_, path_));
  file_.reset();
  return files_->SyncDirectory(DirectoryOf(path_));
}

absl::Status WriteFileAtomically(FileSystem& files, absl::string_view path, absl::string_view bytes, int permissions) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(files, path, permissions));
  RETURN_IF_ERROR(file.file().Append(bytes));
  return file.Commit();
}

absl::Status CreateDirectories(FileSystem& files, absl::string_view path) {
  const auto info = files.Stat(path);
  if (info.ok() && info->is_directory) return absl::OkStatus();
  if (info.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot create the directory ", path, ": it is a file; move it away, or choose another path"));
  }
  const std::string parent = DirectoryOf(path);
  if (parent == path) return info.status();           // "." or "/"
  RETURN_IF_ERROR(CreateDirectories(files, parent));  // names the file in the way, if there is one
  if (!absl::IsNotFound(info.status())) return info.status();
  absl::Status created = files.CreateDirectory(path);
  if (absl::IsNotFound(created) && files.Stat(parent).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot create the directory ", path, ": ", parent,
                                                   " is of a file system that takes no new directories; choose another "
                                                   "path"));
  }
  if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
  // Another process may have created it first.
  if (!created.ok() && absl::IsNotFound(files.Stat(path).status())) {
    return absl::InvalidArgumentError(absl::StrCat("cannot create the directory ", path,
                                                   ": it is a link that leads nowhere; remove it, or choose another "
                                                   "path"));
  }
  return files.SyncDirectory(parent);
}

}  // namespace reprise
