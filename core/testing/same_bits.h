#ifndef CORE_TESTING_SAME_BITS_H_
#define CORE_TESTING_SAME_BITS_H_

// Equality of float arrays bit for bit: 0 is not -0, a NaN equals itself.

#include <bit>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace reprise::testing {

// EXPECT_TRUE(SameBits(actual, expected)); the message names the first difference.
inline ::testing::AssertionResult SameBits(absl::Span<const float> actual, absl::Span<const float> expected) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure() << actual.size() << " elements, expected " << expected.size();
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::bit_cast<uint32_t>(actual[i]) == std::bit_cast<uint32_t>(expected[i])) continue;
    return ::testing::AssertionFailure() << absl::StrFormat("element %d of %d is %a (%g), expected %a (%g)", i,
                                                            actual.size(), actual[i], actual[i], expected[i],
                                                            expected[i]);
  }
  return ::testing::AssertionSuccess();
}

}  // namespace reprise::testing

#endif  // CORE_TESTING_SAME_BITS_H_
