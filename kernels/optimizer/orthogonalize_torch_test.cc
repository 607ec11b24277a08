// Compares with the matrices of torch_goldens.json, which torch_goldens.py has made with PyTorch.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/optimizer/orthogonalize.h"
#include "kernels/testing/kernel_testing.h"
#include "nlohmann/json.hpp"

namespace reprise::kernels {
namespace {

struct Matrix {
  int64_t rows = 0, width = 0;
  std::vector<double> values;
};

Matrix Read(const nlohmann::json& json) {
  Matrix matrix{static_cast<int64_t>(json.size()), static_cast<int64_t>(json.at(0).size()), {}};
  for (const auto& row : json) {
    for (const auto& value : row) matrix.values.push_back(value.get<double>());
  }
  return matrix;
}

double LargestDifference(const std::vector<float>& own, const Matrix& golden) {
  EXPECT_EQ(own.size(), golden.values.size());
  double largest = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(own[i]) - golden.values[i]);
    largest = std::isfinite(difference) ? std::max(largest, difference) : 1e9;
  }
  return largest;
}

TEST(TorchOrthogonalizeTest, AgreesWithTorchsDecompositionAndItsMuon) {
  std::ifstream file("kernels/optimizer/torch_goldens.json");
  const nlohmann::json goldens = nlohmann::json::parse(file);
  ASSERT_EQ(goldens.at("cases").size(), 9u);
  for (const nlohmann::json& golden : goldens.at("cases")) {
    const std::string about = golden.at("about");
    const Matrix x = Read(golden.at("x"));
    SCOPED_TRACE(about + " " + std::to_string(x.rows) + " x " + std::to_string(x.width));
    ::reprise::testing::ForEachIsa([&] {
      std::vector<float> exact(x.values.begin(), x.values.end()), iterated = exact;
      Orthogonalize({exact.data(), x.rows, x.width});
      NewtonSchulz(5, {iterated.data(), x.rows, x.width});
      // Half a float's last place near 1.
      EXPECT_LE(LargestDifference(exact, Read(golden.at("exact"))), 6e-8);
      // An iteration multiplies what is near 0 by 3.4445: five of them a float's rounding by 485.
      EXPECT_LE(LargestDifference(iterated, Read(golden.at("iterated"))), 485 * 6e-8);
      // torch's Muon rounds to 8 bits, after which a matrix of rank 2 has other ranks, which the iterations amplify.
      // The others differ by at most 0.039 from float64.
      if (about != "of rank 2") {
        EXPECT_LE(LargestDifference(iterated, Read(golden.at("muon"))), 0.04);
      }
    });
  }
}

}  // namespace
}  // namespace reprise::kernels
