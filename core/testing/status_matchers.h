#ifndef CORE_TESTING_STATUS_MATCHERS_H_
#define CORE_TESTING_STATUS_MATCHERS_H_

// GoogleTest matchers for absl::Status and absl::StatusOr.
//   ASSERT_OK(status);  ASSERT_OK_AND_ASSIGN(auto x, StatusOrX());
//   EXPECT_THAT(StatusOrX(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("config.json")));

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::testing {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

MATCHER_P2(StatusIs, code, message, "") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code &&
         ::testing::ExplainMatchResult(message, std::string(GetStatus(arg).message()), result_listener);
}

}  // namespace reprise::testing

#define ASSERT_OK(expr) ASSERT_THAT(expr, ::reprise::testing::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT(expr, ::reprise::testing::IsOk())
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  REPRISE_ASSERT_OK_AND_ASSIGN_(REPRISE_TEST_CONCAT_(status_or_, __LINE__), lhs, expr)
#define REPRISE_ASSERT_OK_AND_ASSIGN_(result, lhs, expr) \
  auto result = (expr);                                  \
  ASSERT_OK(result);                                     \
  lhs = *std::move(result)
#define REPRISE_TEST_CONCAT_INNER_(a, b) a##b
#define REPRISE_TEST_CONCAT_(a, b) REPRISE_TEST_CONCAT_INNER_(a, b)

#endif  // CORE_TESTING_STATUS_MATCHERS_H_
