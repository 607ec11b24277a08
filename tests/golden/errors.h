#ifndef TESTS_GOLDEN_ERRORS_H_
#define TESTS_GOLDEN_ERRORS_H_

// How far results lie from reference vectors, kind by kind, in absolute units and as a part of the tolerance.

#include <cstdint>
#include <map>
#include <string>

namespace reprise::golden {

class Errors {
 public:
  // One comparison of this kind. A NaN on either side is an infinite error; `where` names the element in messages.
  void Compare(const std::string& kind, double actual, double expected, double tolerance, const std::string& where);
  // The same for what must be equal.
  void CompareExactly(const std::string& kind, int64_t actual, int64_t expected, const std::string& where);
  void CompareExactly(const std::string& kind, bool equal, const std::string& where);

  // Whether anything was compared and all of it lies within its tolerance.
  bool Within() const;
  // The same for one kind.
  bool Within(const std::string& kind) const;

  // A line a kind: comparisons, largest error, its part of the tolerance, and where it was.
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
