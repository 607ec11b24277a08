// call_everything DIRECTORY: makes every call that the shim watches, in DIRECTORY and once outside it, and prints on
// stdout which calls failed and which transferred fewer bytes than requested.

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace {

long Tell(const char* call, long result, long expected = 0) {
  if (result < 0) std::printf("%s: %s\n", call, std::strerror(errno));
  if (result >= 0 && expected > 0 && result != expected) std::printf("%s: %ld\n", call, result);
  std::fflush(stdout);
  return result;
}

void UseContents() {
  char bytes[8];
  const int file = static_cast<int>(Tell("open", open("a", O_RDWR | O_CREAT | O_CLOEXEC, 0600)));
  Tell("write", write(file, "12345678", 8), 8);
  Tell("pwrite", pwrite(file, "abcd", 4, 2), 4);
  Tell("fsync", fsync(file));
  Tell("pread", pread(file, bytes, 8, 0), 8);
  Tell("ftruncate", ftruncate(file, 6));
  Tell("fdatasync", fdatasync(file));
  Tell("close", close(file));
  const int second = static_cast<int>(Tell("openat", openat(AT_FDCWD, "a", O_RDONLY)));
  Tell("read", read(second, bytes, 6), 6);
  Tell("close", close(second));
  const int third = static_cast<int>(Tell("creat", creat("b", 0600)));
  Tell("close", close(third));
}

void UseNames() {
  struct stat info;
  Tell("stat", stat("a", &info));
  Tell("rename", rename("b", "c"));
  Tell("renameat2", renameat2(AT_FDCWD, "c", AT_FDCWD, "d", RENAME_NOREPLACE));
  Tell("link", link("d", "e"));
  Tell("linkat", linkat(AT_FDCWD, "d", AT_FDCWD, "f", 0));
  Tell("unlink", unlink("e"));
  Tell("unlinkat", unlinkat(AT_FDCWD, "f", 0));
  DIR* const names = opendir(".");
  Tell("opendir", names == nullptr ? -1 : 0);
  if (names != nullptr) closedir(names);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const std::string directory = argv[1];
  close(open("/dev/null", O_RDONLY));
  Tell("mkdir", mkdir(directory.c_str(), 0700));
  if (chdir(directory.c_str()) != 0) return 1;
  UseContents();
  UseNames();
  Tell("mkdir", mkdir("g", 0700));
  Tell("rmdir", rmdir("g"));
  return 0;
}
