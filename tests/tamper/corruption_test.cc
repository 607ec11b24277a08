// Promise: every flipped bit and every truncation is detected, and the file is rejected before any value is used.

#include <filesystem>
#include <fstream>

#include "core/io/file_system.h"
#include "core/random/draw.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_reader.h"
#include "gtest/gtest.h"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

constexpr char kSmallRun[] = "tests/determinism/small.toml";
constexpr int kFlips = 1000, kFlipsForPrograms = 20, kCuts = 100, kCutsForPrograms = 6;
constexpr int kDataLoss = 65;

const std::string& RunBytes() {
  static const auto* const bytes = new std::string(Contents(Train(kSmallRun, {}, {}).file()));
  return *bytes;
}

// Returns the path of a file with these bytes, which each call replaces.
const std::string& Write(const std::string& bytes) {
  static const auto* const path = new std::string(UniqueTemporaryPath() + ".h5");
  std::ofstream(*path, std::ios::binary | std::ios::trunc) << bytes;
  return *path;
}

std::string WithFlippedBit(uint64_t bit) {
  std::string bytes = RunBytes();
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  return bytes;
}

uint64_t RandomBit(int flip) {
  return DrawBelow(1, Purpose::kTest, {.token = static_cast<uint64_t>(flip)}, RunBytes().size() * 8);
}

// Returns the size of a truncated file. Half are within the first kilobyte, where the user block and HDF5's first
// structures are.
size_t RandomSize(int cut) {
  const uint64_t below = cut % 2 == 0 ? 1024 : RunBytes().size();
  return static_cast<size_t>(DrawBelow(2, Purpose::kTest, {.token = static_cast<uint64_t>(cut)}, below));
}

void ExpectReaderRejects(const std::string& bytes) {
  EXPECT_THAT(RunReader::Open(PosixFileSystem(), Write(bytes)), StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
}

void ExpectReproduceRejects(const std::string& bytes) {
  const Verdict verdict = Reproduce(Write(bytes), "replay", {});
  EXPECT_EQ(verdict.process.exit_code, kDataLoss) << verdict.process.err;
  EXPECT_FALSE(verdict.given);
}

TEST(DamageTest, TheWholeRunIsAccepted) {
  EXPECT_OK(RunReader::Open(PosixFileSystem(), Write(RunBytes())));
  EXPECT_TRUE(Reproduce(Write(RunBytes()), "replay", {}).pass);
}

TEST(DamageTest, TheReaderRejectsEveryFlippedBit) {
  for (int flip = 0; flip < kFlips; ++flip) {
    SCOPED_TRACE(RandomBit(flip));
    ExpectReaderRejects(WithFlippedBit(RandomBit(flip)));
  }
}

TEST(DamageTest, ReproduceRejectsFlippedBitsAsCorruption) {
  for (int flip = 0; flip < kFlipsForPrograms; ++flip) {
    SCOPED_TRACE(RandomBit(flip));
    ExpectReproduceRejects(WithFlippedBit(RandomBit(flip)));
  }
}

TEST(DamageTest, TheReaderRejectsEveryTruncatedFile) {
  for (int cut = 0; cut < kCuts; ++cut) {
    SCOPED_TRACE(RandomSize(cut));
    ExpectReaderRejects(RunBytes().substr(0, RandomSize(cut)));
  }
  ExpectReaderRejects(RunBytes().substr(0, RunBytes().size() - 1));
}

TEST(DamageTest, ReproduceRejectsTruncatedFilesAsCorruption) {
  for (int cut = 0; cut < kCutsForPrograms; ++cut) {
    SCOPED_TRACE(RandomSize(cut));
    ExpectReproduceRejects(RunBytes().substr(0, RandomSize(cut)));
  }
  ExpectReproduceRejects("");
}

}  // namespace
}  // namespace reprise::testing
