#include "core/io/file_group.h"

namespace reprise {

FileGroup::~FileGroup() {
  // The last file first: it is what makes the others complete. The caller reports the first error.
  for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) files_.Unlink(*path).IgnoreError();
}

absl::Status FileGroup::Add(absl::string_view path, absl::Status written) {
  // After another error the file may exist all the same: the last step makes its name durable.
  paths_.emplace_back(path);
  // These two say that another process writes the same files, or has removed some: it may have made the others too, and
  // what is its own must stay.
  if (absl::IsAlreadyExists(written) || absl::IsNotFound(written)) paths_.clear();
  return written;
}

}  // namespace reprise
