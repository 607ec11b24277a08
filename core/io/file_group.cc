#include "core/io/file_group.h"

namespace reprise {

FileGroup::~FileGroup() {
  // The last file first: it is what makes the others complete. The caller reports the first error.
  for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) files_.Unlink(*path).IgnoreError();
}

absl::Status FileGroup::Add(absl::string_view path, absl::Status written) {
  // After another error the file may exist all the same: the last step makes its name durable.
  if (!absl::IsAlreadyExists(written)) paths_.emplace_back(path);
  return written;
}

}  // namespace reprise
