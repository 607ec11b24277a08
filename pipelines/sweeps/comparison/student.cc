#include "pipelines/sweeps/comparison/student.h"

#include <cmath>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"

namespace reprise {
namespace {

// log of the gamma function for x >= 0.5: Stirling's series, shifted to where its terms fall quickly (Abramowitz and
// Stegun, 6.1.41).
double LogGamma(double x) {
  double shift = 0;
  for (; x < 16; x += 1) shift += kernels::Log(x);
  const double inverse = 1 / x, square = inverse * inverse;
  const double series =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188))));
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return (x - 0.5) * kernels::Log(x) - x + kHalfLogTwoPi + series - shift;
}

double AwayFromZero(double x) {
  constexpr double kTiny = 1e-300;
  return std::fabs(x) < kTiny ? kTiny : x;
}

// The continued fraction of I_x(a, b) by Lentz's method; converges quickly for x < (a + 1) / (a + b + 2).
double Fraction(double a, double b, double x) {
  constexpr int kMostTerms = 10'000;
  double c = 1, d = 1 / AwayFromZero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / AwayFromZero(1 + even * d);
    c = AwayFromZero(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / AwayFromZero(1 + odd * d);
    c = AwayFromZero(1 + odd / c);
    value *= d * c;
    if (std::fabs(d * c - 1) < 1e-15) break;
  }
  return value;
}

}  // namespace

double IncompleteBeta(double a, double b, double x) {
  CHECK(a > 0 && b > 0 && x >= 0 && x <= 1);
  if (x == 0 || x == 1) return x;
  const double front =
      kernels::Exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * kernels::Log(x) + b * kernels::Log(1 - x));
  if (x < (a + 1) / (a + b + 2)) return front * Fraction(a, b, x) / a;
  return 1 - front * Fraction(b, a, 1 - x) / b;
}

double StudentTwoSided(double t, double degrees) {
  CHECK(degrees > 0);
  return IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double StudentQuantile(double p, double degrees) {
  CHECK(p > 0 && p < 1);
  double low = 0, high = 1;
  while (StudentTwoSided(high, degrees) > p && high < 1e150) high *= 2;
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (StudentTwoSided(middle, degrees) > p ? low : high) = middle;
  }
}

double NoncentralTwoSided(double t, double degrees, double shift) {
  CHECK(t >= 0 && degrees > 0);
  const double mean = shift * shift / 2, x = degrees / (degrees + t * t);
  const auto beyond = [&](double k) { return IncompleteBeta(degrees / 2, k + 0.5, x); };
  // Weights are relative to that of the most frequent k, from which they fall on both sides; their sum divides them.
  constexpr double kNegligible = 1e-17;
  const double middle = std::floor(mean);
  double weights = 1, sum = beyond(middle);
  double weight = 1;
  for (double k = middle + 1; (weight *= mean / k) > kNegligible; ++k) {
    weights += weight;
    sum += weight * beyond(k);
  }
  weight = 1;
  for (double k = middle; k > 0 && (weight *= k / mean) > kNegligible; --k) {
    weights += weight;
    sum += weight * beyond(k - 1);
  }
  return sum / weights;
}

}  // namespace reprise
