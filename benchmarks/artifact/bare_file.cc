#include "benchmarks/artifact/bare_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "core/status/check.h"

namespace reprise::benchmarks {
namespace {

void SyncAndClose(int descriptor) {
  CHECK_EQ(fsync(descriptor), 0);
  CHECK_EQ(close(descriptor), 0);
}

}  // namespace

void WriteBare(const std::string& directory, const std::string& name, const std::string& bytes) {
  const std::string path = directory + "/" + name, temporary = path + ".tmp";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  CHECK_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  SyncAndClose(file);
  CHECK_EQ(std::rename(temporary.c_str(), path.c_str()), 0);
  SyncAndClose(open(directory.c_str(), O_RDONLY | O_DIRECTORY));
}

void ReadBare(const std::string& path, std::string* bytes) {
  const int file = open(path.c_str(), O_RDONLY);
  CHECK_EQ(read(file, bytes->data(), bytes->size()), static_cast<ssize_t>(bytes->size()));
  CHECK_EQ(close(file), 0);
}

}  // namespace reprise::benchmarks
