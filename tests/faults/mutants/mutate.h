#ifndef TESTS_FAULTS_MUTANTS_MUTATE_H_
#define TESTS_FAULTS_MUTANTS_MUTATE_H_

#include <cstdint>
#include <string>

namespace reprise::testing {

// How a disk, a copy or a person may damage a file.
enum class Damage {
  kFlipBit,
  kFlipBits,  // of several bytes
  kSetByte,
  kClearBlock,  // zeros, or ones
  kTruncate,
  kExtend,     // by bytes of the other file, or zeros
  kDuplicate,  // a block is there twice
  kRemove,     // a block is missing
  kSwap,       // of two blocks
  kSplice,     // a block of the other file in the place of as many bytes
};
inline constexpr int kDamages = 10;

// Where blocks begin and end.
enum class Grain { kBytes, kSectors, kLines };

struct Mutant {
  Damage damage = Damage::kFlipBit;
  std::string bytes;
};

// Mutant number `number` of `original`, which has at least two blocks of the grain and they differ; so does the mutant
// from the original. A function of the arguments. `other` is a file of the same kind.
Mutant MutantOf(const std::string& original, const std::string& other, Grain grain, uint64_t number);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_MUTANTS_MUTATE_H_
