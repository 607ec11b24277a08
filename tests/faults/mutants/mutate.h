#ifndef TESTS_FAULTS_MUTANTS_MUTATE_H_
#define TESTS_FAULTS_MUTANTS_MUTATE_H_

#include <cstdint>
#include <string>

namespace reprise::testing {

// How a disk, a copy or a person may corrupt a file.
enum class Damage {
  kFlipBit,
  kFlipBits,  // of several bytes
  kSetByte,
  kClearBlock,  // zeros, or ones
  kTruncate,
  kExtend,     // by bytes of the other file, or zeros
  kDuplicate,  // a block occurs twice
  kRemove,     // a block is missing
  kSwap,       // of two blocks
  kSplice,     // a block of the other file replaces the same number of bytes
};
inline constexpr int kCorruptions = 10;

// Where blocks begin and end.
enum class Grain { kBytes, kSectors, kLines };

struct Mutant {
  Damage damage = Damage::kFlipBit;
  std::string bytes;
};

// Returns mutant number `number` of `original`, which must have at least two different blocks of the grain. The mutant
// differs from the original and depends only on the arguments. `other` is a file of the same kind.
Mutant MakeMutant(const std::string& original, const std::string& other, Grain grain, uint64_t number);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_MUTANTS_MUTATE_H_
