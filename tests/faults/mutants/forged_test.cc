// Beyond the promise: mutants with valid digests, so that libhdf5 parses the corruption. The promise is that accidental
// corruption never reaches libhdf5; a forger can make a file that does. This test opens each mutant in a child process
// and counts the outcomes; of the first 60,000, HDF5 1.10.8 crashed on 15 and hung on one. Keep this in mind when you
// open a file from an untrusted source.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/status/check.h"
#include "data/artifact/format/user_block.h"
#include "data/artifact/run_reader.h"
#include "gtest/gtest.h"
#include "tests/faults/mutants/mutate.h"
#include "tests/faults/mutants/subjects.h"

namespace reprise::testing {
namespace {

constexpr int kMutants = 2000;
constexpr size_t kBlock = 512;
constexpr int kRejected = 10, kWronglyAccepted = 11;

// Returns the mutant's body behind a user block with its size and digest.
std::string Forged(const std::string& original, const std::string& body) {
  internal::UserBlock block = internal::ParseUserBlock(original).value();
  block.body_bytes = static_cast<int64_t>(body.size());
  block.body_digest = Sha256(body);
  return internal::EncodeUserBlock(block) + body;
}

// Returns the child's wait(2) status. SIGALRM kills a child that takes two seconds.
int OpenInAChild(const std::string& bytes) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(2);
    FakeFileSystem files;
    CHECK(WriteFileAtomically(files, "a.h5", bytes).ok());
    _exit(RunReader::Open(files, "a.h5").ok() ? kWronglyAccepted : kRejected);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status;
}

struct ForgedTally {
  int refused = 0, wrongly_accepted = 0, crashed = 0, hung = 0;
};

ForgedTally OpenForgedMutants(const std::string& original, const std::string& other) {
  ForgedTally tally;
  const std::string body = original.substr(kBlock), other_body = other.substr(kBlock);
  for (uint64_t number = 0; number < kMutants; ++number) {
    const Mutant mutant = MakeMutant(body, other_body, number % 2 == 0 ? Grain::kBytes : Grain::kSectors, number);
    const int status = OpenInAChild(Forged(original, mutant.bytes));
    const bool hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    tally.hung += hung ? 1 : 0;
    tally.refused += code == kRejected ? 1 : 0;
    tally.wrongly_accepted += code == kWronglyAccepted ? 1 : 0;
    tally.crashed += !hung && code != kRejected && code != kWronglyAccepted ? 1 : 0;
  }
  return tally;
}

TEST(ForgedTest, AForgedFileIsRejectedOrHasTheContentsOfTheRunDigest) {
  const std::string original = ExampleRunFile(4);
  EXPECT_EQ(WEXITSTATUS(OpenInAChild(original)), kWronglyAccepted);
  const ForgedTally tally = OpenForgedMutants(original, ExampleRunFile(3));
  // Accepted files are corrupt only in bytes that hold no array and that HDF5 does not read; the run digest covers the
  // rest.
  std::printf("%d forged mutants: %d rejected, %d accepted with the contents of the original, %d crashed, %d hung\n",
              kMutants, tally.refused, tally.wrongly_accepted, tally.crashed, tally.hung);
  EXPECT_GT(tally.refused, kMutants / 2);
}

}  // namespace
}  // namespace reprise::testing
