#include "core/digest/sha256_batch.h"

#include <cstddef>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

// Few sizes, so that many messages share one.
RC_GTEST_PROP(Sha256BatchPropertyTest, EveryMessageHasItsOwnDigestForAnyNumberOfThreads, ()) {
  const size_t sizes[] = {0, 63, 64, 1000, 4096};
  const auto chosen = *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, 5));
  std::vector<std::vector<std::byte>> contents;
  std::vector<absl::Span<const std::byte>> messages;
  for (size_t i = 0; i < chosen.size(); ++i) {
    contents.emplace_back(sizes[chosen[i]], static_cast<std::byte>(i));
    messages.emplace_back(contents.back());
  }
  ThreadPool pool(*rc::gen::inRange(1, 4));
  const std::vector<Digest> digests = Sha256Batch(messages, pool);
  RC_ASSERT(digests.size() == messages.size());
  for (size_t i = 0; i < messages.size(); ++i) RC_ASSERT(digests[i] == Sha256(messages[i]));
}

using Messages = std::vector<absl::Span<const std::byte>>;

std::vector<std::byte> Noise(size_t size) {
  std::vector<std::byte> noise(size);
  uint32_t state = 1;
  for (std::byte& byte : noise) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return noise;
}

std::vector<Digest> One(const Messages& messages) {
  std::vector<Digest> digests;
  for (const auto message : messages) digests.push_back(Sha256(message));
  return digests;
}

std::vector<Digest> AtOnce(const Messages& messages) {
  std::vector<Digest> digests(messages.size());
  Sha256Lanes(messages, absl::MakeSpan(digests));
  return digests;
}

// Every length of a message's end, and every number of lanes.
TEST(Sha256LanesTest, DigestsAreThoseOfOneAtATime) {
  const std::vector<std::byte> noise = Noise(4000);
  for (size_t size = 0; size <= 200; ++size) {
    for (size_t count = 0; count <= kSha256Lanes; ++count) {
      Messages messages;
      for (size_t i = 0; i < count; ++i) messages.push_back(absl::MakeConstSpan(noise).subspan(i * 211, size));
      ASSERT_EQ(AtOnce(messages), One(messages)) << count << " messages of " << size << " bytes";
    }
  }
}

RC_GTEST_PROP(Sha256LanesPropertyTest, MessagesMayBeAtAnyAddressAndOverlap, ()) {
  const std::vector<std::byte> noise = Noise(20000);
  const size_t size = *rc::gen::inRange<size_t>(0, 10000);
  const auto starts =
      *rc::gen::resize(kSha256Lanes, rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, 10000)));
  Messages messages;
  for (size_t i = 0; i < starts.size() && i < kSha256Lanes; ++i) {
    messages.push_back(absl::MakeConstSpan(noise).subspan(starts[i], size));
  }
  RC_ASSERT(AtOnce(messages) == One(messages));
}

TEST(Sha256LanesDeathTest, RefusesMessagesOfTwoSizes) {
  const std::vector<std::byte> noise = Noise(100);
  const Messages messages = {absl::MakeConstSpan(noise), absl::MakeConstSpan(noise).subspan(1)};
  EXPECT_DEATH(AtOnce(messages), "messages\\[0\\].size");
}

}  // namespace

}  // namespace reprise
