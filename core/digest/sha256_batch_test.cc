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

}  // namespace
}  // namespace reprise
