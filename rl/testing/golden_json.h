#ifndef RL_TESTING_GOLDEN_JSON_H_
#define RL_TESTING_GOLDEN_JSON_H_

// Reads the golden JSON files of the reinforcement-learning mathematics and compares within their tolerance.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace reprise::rl::testing {

// Returns the file FILENAME of the golden set (core/testing/goldens.h); ends the process if it cannot be read.
nlohmann::json ReadGoldenJson(const std::string& filename);

// Returns a number; null is NaN.
double Number(const nlohmann::json& json);
// Returns a row of numbers.
std::vector<double> Row(const nlohmann::json& json);
// Returns a matrix in row-major order.
std::vector<double> Flat(const nlohmann::json& json);
// Returns a matrix, one vector for each row.
std::vector<std::vector<double>> Rows(const nlohmann::json& json);

// Expects |actual - golden| <= max(1e-14, 1e-12 |golden|): the tolerance of goldens made in double.
void ExpectGolden(double actual, double golden, const std::string& what);
// Expects the same for a golden that was rounded to float, like the ratios of counts that TRL logs: half a float's last
// place.
void ExpectGoldenFloat(double actual, double golden, const std::string& what);

// Counts cases by the algorithm row that they matched, and prints the table in its destructor, so that a case that
// matches nothing is visible.
class CaseCount {
 public:
  explicit CaseCount(std::string title) : title_(std::move(title)) {}
  ~CaseCount();
  void Add(const std::string& row) { ++counts_[row]; }
  int64_t Total() const;

 private:
  std::string title_;
  std::map<std::string, int64_t> counts_;
};

}  // namespace reprise::rl::testing

#endif  // RL_TESTING_GOLDEN_JSON_H_
