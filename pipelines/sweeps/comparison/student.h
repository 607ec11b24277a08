#ifndef PIPELINES_SWEEPS_COMPARISON_STUDENT_H_
#define PIPELINES_SWEEPS_COMPARISON_STUDENT_H_

// Student's t distribution, with the same bits on every machine (kernels/math). All functions are pure.

namespace reprise {

// Returns the regularized incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1] (checked), by its continued
// fraction (Press et al., Numerical Recipes, section 6.4; DiDonato and Morris, 1992). Absolute error below 1e-12 for a
// and b up to 10^6.
double IncompleteBeta(double a, double b, double x);

// Returns the probability that |T| >= |t| for T of Student's distribution with `degrees` > 0 of freedom: I_x(d/2, 1/2)
// with x = d / (d + t^2).
double StudentTwoSided(double t, double degrees);

// Returns the t > 0 for which StudentTwoSided(t, degrees) is `p`, 0 < p < 1 (checked), by bisection.
double StudentQuantile(double p, double degrees);

// Returns the probability that |T| >= t, t >= 0, for T of the noncentral t distribution with `degrees` > 0 of freedom
// and noncentrality `shift`: (Z + shift) / sqrt(V / degrees) for a standard normal Z and a chi-squared V (Johnson, Kotz
// and Balakrishnan, Continuous Univariate Distributions, volume 2, chapter 31). T^2 is a mixture of beta distributions
// with Poisson's weights for shift^2 / 2. Absolute error below 1e-9 for |shift| up to 1000, in some 12 |shift| terms.
double NoncentralTwoSided(double t, double degrees, double shift);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_COMPARISON_STUDENT_H_
