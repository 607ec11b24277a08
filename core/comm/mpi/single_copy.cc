#include "core/comm/mpi/single_copy.h"

#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace reprise {

bool CanReadOtherProcesses() {
  static constexpr char kThere = 1;  // at the same address in the child
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char end;
    while (::read(ends[0], &end, 1) < 0 && errno == EINTR) {
    }
    ::_exit(0);  // its parent has closed the pipe
  }
  char copy = 0;
  const iovec here = {&copy, 1}, there = {const_cast<char*>(&kThere), 1};
  const bool is_read = child > 0 && ::process_vm_readv(child, &here, 1, &there, 1, 0) == 1 && copy == kThere;
  for (const int end : ends) ::close(end);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return is_read;
}

void ChooseHowRanksCopy() {
  constexpr char kOpenMpi4[] = "OMPI_MCA_btl_vader_single_copy_mechanism", kOpenMpi5[] = "OMPI_MCA_smsc";
  if (std::getenv(kOpenMpi4) != nullptr || std::getenv(kOpenMpi5) != nullptr || CanReadOtherProcesses()) return;
  ::setenv(kOpenMpi4, "none", 1);
  ::setenv(kOpenMpi5, "^cma", 1);
}

}  // namespace reprise
