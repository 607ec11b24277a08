#include "rl/testing/golden_json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "core/testing/goldens.h"
#include "gtest/gtest.h"

namespace reprise::rl::testing {

nlohmann::json ReadGoldenJson(const std::string& filename) {
  const std::string path = reprise::testing::GoldensDirectory() + "/" + filename;
  std::ifstream in(path);
  nlohmann::json json = nlohmann::json::parse(in, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::abort();
  }
  return json;
}

double Number(const nlohmann::json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

std::vector<double> Row(const nlohmann::json& json) {
  std::vector<double> row;
  for (const nlohmann::json& element : json) row.push_back(Number(element));
  return row;
}

std::vector<double> Flat(const nlohmann::json& json) {
  std::vector<double> flat;
  for (const nlohmann::json& row : json) {
    for (const nlohmann::json& element : row) flat.push_back(Number(element));
  }
  return flat;
}

std::vector<std::vector<double>> Rows(const nlohmann::json& json) {
  std::vector<std::vector<double>> rows;
  for (const nlohmann::json& row : json) rows.push_back(Row(row));
  return rows;
}

void ExpectGolden(double actual, double golden, const std::string& what) {
  EXPECT_NEAR(actual, golden, std::max(1e-14, 1e-12 * std::fabs(golden))) << what;
}

void ExpectGoldenFloat(double actual, double golden, const std::string& what) {
  EXPECT_NEAR(actual, golden, std::max(1e-14, 0x1p-24 * std::fabs(golden))) << what;
}

CaseCount::~CaseCount() {
  for (const auto& [row, count] : counts_) {
    std::printf("%s: %4lld cases of %s\n", title_.c_str(), static_cast<long long>(count), row.c_str());
  }
}

int64_t CaseCount::Total() const {
  int64_t total = 0;
  for (const auto& [row, count] : counts_) total += count;
  return total;
}

}  // namespace reprise::rl::testing
