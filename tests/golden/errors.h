#ifndef TESTS_GOLDEN_ERRORS_H_
#define TESTS_GOLDEN_ERRORS_H_

// Differences between results and reference vectors for each kind of value, absolute and as fractions of the tolerance.

#include <cstdint>
#include <map>
#include <string>

namespace reprise::golden {

class Errors {
 public:
  // Adds one comparison of this kind. A NaN on either side is an infinite error; `where` names the element in messages.
  void Compare(const std::string& kind, double actual, double expected, double tolerance, const std::string& where);
  // Adds a comparison of values that must be equal.
  void CompareExactly(const std::string& kind, int64_t actual, int64_t expected, const std::string& where);
  void CompareExactly(const std::string& kind, bool equal, const std::string& where);

  // Returns whether there was any comparison and all are within their tolerances.
  bool Within() const;
  // Returns the same for one kind.
  bool Within(const std::string& kind) const;

  // Returns one line for each kind: comparisons, largest error, largest fraction of the tolerance, and its element.
  std::string ToString() const;

  struct Kind {
    int64_t count = 0;
    double largest = 0;       // |actual - expected|
    double largest_part = 0;  // of the tolerance; within if <= 1
    std::string where;        // of largest_part
  };
  const std::map<std::string, Kind>& kinds() const { return kinds_; }

 private:
  std::map<std::string, Kind> kinds_;
};

}  // namespace reprise::golden

#endif  // TESTS_GOLDEN_ERRORS_H_
