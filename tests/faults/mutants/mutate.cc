#include "tests/faults/mutants/mutate.h"

#include <algorithm>
#include <utility>

#include "core/random/draw.h"

namespace reprise::testing {
namespace {

constexpr size_t kSector = 512;

class Dice {
 public:
  explicit Dice(uint64_t number) : number_(number) {}

  uint64_t Below(uint64_t bound) {
    return DrawBelow(number_ >> 32, Purpose::kTest, {.step = number_ & 0xffffffff, .token = draws_++}, bound);
  }
  // Half of the sizes are below 64.
  uint64_t SizeBelow(uint64_t bound) { return Below(Below(2) == 0 ? std::min<uint64_t>(bound, 64) : bound); }

 private:
  const uint64_t number_;
  uint64_t draws_ = 0;
};

// Returns the last block boundary at or before `at`.
size_t RoundDown(const std::string& bytes, size_t at, Grain grain) {
  switch (grain) {
    case Grain::kBytes:
      return at;
    case Grain::kSectors:
      return at / kSector * kSector;
    case Grain::kLines:
      return at == 0 ? 0 : bytes.rfind('\n', at - 1) + 1;
  }
  return at;
}

struct Block {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
};

// Returns a block that is empty only where rounding makes it so.
Block RandomBlock(const std::string& bytes, Grain grain, Dice& dice) {
  const size_t begin = dice.Below(bytes.size());
  const size_t end = begin + 1 + dice.SizeBelow(bytes.size() - begin);
  return {RoundDown(bytes, begin, grain), end == bytes.size() ? end : RoundDown(bytes, end, grain)};
}

std::string Cut(const std::string& bytes, const Block& block) { return bytes.substr(block.begin, block.size()); }

void FlipBit(std::string& bytes, Dice& dice) {
  char& byte = bytes[dice.Below(bytes.size())];
  byte = static_cast<char>(byte ^ (1 << dice.Below(8)));
}

void Swap(std::string& bytes, Grain grain, Dice& dice) {
  Block first = RandomBlock(bytes, grain, dice), second = RandomBlock(bytes, grain, dice);
  if (second.begin < first.begin) std::swap(first, second);
  if (second.begin < first.end) return;
  const std::string between = bytes.substr(first.end, second.begin - first.end);
  bytes.replace(first.begin, second.end - first.begin, Cut(bytes, second) + between + Cut(bytes, first));
}

void Apply(Damage damage, const std::string& other, Grain grain, Dice& dice, std::string& bytes) {
  switch (damage) {
    case Damage::kFlipBit:
      return FlipBit(bytes, dice);
    case Damage::kFlipBits:
      for (uint64_t flips = 2 + dice.Below(30); flips > 0; --flips) FlipBit(bytes, dice);
      return;
    case Damage::kSetByte:
      bytes[dice.Below(bytes.size())] = static_cast<char>(dice.Below(256));
      return;
    case Damage::kClearBlock: {
      const Block block = RandomBlock(bytes, grain, dice);
      std::fill(bytes.begin() + static_cast<int64_t>(block.begin), bytes.begin() + static_cast<int64_t>(block.end),
                dice.Below(2) == 0 ? '\0' : '\xff');
      return;
    }
    case Damage::kTruncate:
      return bytes.resize(RoundDown(bytes, dice.Below(bytes.size()), grain));
    case Damage::kExtend:
      bytes +=
          dice.Below(2) == 0 ? Cut(other, RandomBlock(other, grain, dice)) : std::string(1 + dice.Below(600), '\0');
      return;
    case Damage::kDuplicate: {
      const Block block = RandomBlock(bytes, grain, dice);
      bytes.insert(block.end, Cut(bytes, block));
      return;
    }
    case Damage::kRemove: {
      const Block block = RandomBlock(bytes, grain, dice);
      bytes.erase(block.begin, block.size());
      return;
    }
    case Damage::kSwap:
      return Swap(bytes, grain, dice);
    case Damage::kSplice: {
      const std::string block = Cut(other, RandomBlock(other, grain, dice));
      const size_t at = RoundDown(bytes, dice.Below(bytes.size()), grain);
      bytes.replace(at, block.size(), block);
      return;
    }
  }
}

}  // namespace

Mutant MakeMutant(const std::string& original, const std::string& other, Grain grain, uint64_t number) {
  Dice dice(number);
  Mutant mutant = {.damage = static_cast<Damage>(number % kCorruptions), .bytes = original};
  while (mutant.bytes == original) Apply(mutant.damage, other, grain, dice, mutant.bytes);
  return mutant;
}

}  // namespace reprise::testing
