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

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_COMPARISON_STUDENT_H_
