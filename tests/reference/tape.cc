#include "tests/reference/tape.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reprise::reference {
namespace {

using Binary = double (*)(double a, double b);

// Returns f(a, b) element by element, given f's derivatives with respect to a and b.
Var Elementwise(Var a, Var b, Binary f, Binary by_a, Binary by_b) {
  Tape* const tape = a.tape;
  const Vector &x = a.value(), &y = b.value();
  const size_t n = x.size() == 1 ? y.size() : x.size();
  const auto of = [](const Vector& v, size_t i) { return v.size() == 1 ? v[0] : v[i]; };
  Vector value(n);
  for (size_t i = 0; i < n; ++i) value[i] = f(of(x, i), of(y, i));
  return tape->Push(std::move(value), [=](const Vector& gradient) {
    const Vector &x = a.value(), &y = b.value();
    Vector& dx = tape->MutableGradient(a);
    for (size_t i = 0; i < n; ++i) dx[dx.size() == 1 ? 0 : i] += gradient[i] * by_a(of(x, i), of(y, i));
    Vector& dy = tape->MutableGradient(b);
    for (size_t i = 0; i < n; ++i) dy[dy.size() == 1 ? 0 : i] += gradient[i] * by_b(of(x, i), of(y, i));
  });
}

// Returns f(x) element by element, given f's derivative as a function of argument and result.
template <typename Function, typename Slope>
Var Unary(Var x, Function f, Slope slope) {
  Vector value, slopes;
  for (const double element : x.value()) {
    value.push_back(f(element));
    slopes.push_back(slope(element, value.back()));
  }
  Tape* const tape = x.tape;
  return tape->Push(std::move(value), [tape, x, slopes = std::move(slopes)](const Vector& gradient) {
    Vector& dx = tape->MutableGradient(x);
    for (size_t i = 0; i < gradient.size(); ++i) dx[i] += gradient[i] * slopes[i];
  });
}

Var Greatest(Var x) { return x.tape->Number(*std::max_element(x.value().begin(), x.value().end())); }

double Half(double a, double b) { return a == b ? 0.5 : 0.0; }

}  // namespace

const Vector& Var::value() const { return tape->nodes_[at].value; }

double Var::number() const { return value().at(0); }

Var Tape::Push(Vector value, Pull pull) {
  nodes_.push_back({std::move(value), {}, std::move(pull)});
  return {this, nodes_.size() - 1};
}

Vector& Tape::MutableGradient(Var var) {
  Node& node = nodes_[var.at];
  if (node.gradient.empty()) node.gradient.assign(node.value.size(), 0.0);
  return node.gradient;
}

Var Tape::Weights(size_t offset, size_t size) {
  return Push({weights_.begin() + offset, weights_.begin() + offset + size}, [this, offset](const Vector& gradient) {
    for (size_t i = 0; i < gradient.size(); ++i) gradient_[offset + i] += gradient[i];
  });
}

Var Tape::Times(size_t offset, size_t rows, Var x) {
  const size_t columns = x.size();
  Vector value(rows, 0.0);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) value[r] += weights_[offset + r * columns + c] * x.value()[c];
  }
  return Push(std::move(value), [this, offset, columns, x](const Vector& gradient) {
    Vector& dx = MutableGradient(x);
    for (size_t r = 0; r < gradient.size(); ++r) {
      for (size_t c = 0; c < columns; ++c) {
        gradient_[offset + r * columns + c] += gradient[r] * x.value()[c];
        dx[c] += gradient[r] * weights_[offset + r * columns + c];
      }
    }
  });
}

Var Tape::WeightedSum(Var share, const std::vector<Var>& vectors) {
  Vector value(vectors[0].size(), 0.0);
  for (size_t j = 0; j < vectors.size(); ++j) {
    for (size_t i = 0; i < value.size(); ++i) value[i] += share.value()[j] * vectors[j].value()[i];
  }
  return Push(std::move(value), [this, share, vectors](const Vector& gradient) {
    Vector& dshare = MutableGradient(share);
    for (size_t j = 0; j < vectors.size(); ++j) {
      Vector& dvector = MutableGradient(vectors[j]);
      for (size_t i = 0; i < gradient.size(); ++i) {
        dvector[i] += gradient[i] * share.value()[j];
        dshare[j] += gradient[i] * vectors[j].value()[i];
      }
    }
  });
}

Var Tape::Concat(const std::vector<Var>& parts) {
  Vector value;
  for (const Var part : parts) value.insert(value.end(), part.value().begin(), part.value().end());
  return Push(std::move(value), [this, parts](const Vector& gradient) {
    size_t at = 0;
    for (const Var part : parts) {
      for (double& element : MutableGradient(part)) element += gradient[at++];
    }
  });
}

void Tape::Backward(Var loss) {
  MutableGradient(loss).assign(1, 1.0);
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (node->pull && !node->gradient.empty()) node->pull(node->gradient);
  }
}

Var operator+(Var a, Var b) {
  const Binary one = [](double, double) { return 1.0; };
  return Elementwise(a, b, [](double x, double y) { return x + y; }, one, one);
}

Var operator-(Var a, Var b) { return a + (-b); }

Var operator*(Var a, Var b) {
  return Elementwise(
      a, b, [](double x, double y) { return x * y; }, [](double, double y) { return y; },
      [](double x, double) { return x; });
}

Var operator/(Var a, Var b) {
  return Elementwise(
      a, b, [](double x, double y) { return x / y; }, [](double, double y) { return 1.0 / y; },
      [](double x, double y) { return -x / (y * y); });
}

Var operator*(double a, Var b) { return b.tape->Number(a) * b; }
Var operator+(double a, Var b) { return b.tape->Number(a) + b; }
Var operator-(Var a) { return -1.0 * a; }

Var Min(Var a, Var b) {
  return Elementwise(
      a, b, [](double x, double y) { return std::min(x, y); },
      [](double x, double y) { return x < y ? 1.0 : Half(x, y); },
      [](double x, double y) { return y < x ? 1.0 : Half(x, y); });
}

Var Max(Var a, Var b) { return -Min(-a, -b); }

Var Exp(Var x) {
  return Unary(x, [](double v) { return std::exp(v); }, [](double, double result) { return result; });
}

Var Log(Var x) {
  return Unary(x, [](double v) { return std::log(v); }, [](double v, double) { return 1.0 / v; });
}

Var Sqrt(Var x) {
  return Unary(x, [](double v) { return std::sqrt(v); }, [](double, double result) { return 0.5 / result; });
}

Var Sigmoid(Var x) {
  return Unary(
      x, [](double v) { return 1.0 / (1.0 + std::exp(-v)); },
      [](double, double result) { return result * (1.0 - result); });
}

Var Clamp(Var x, double low, double high) {
  return Unary(
      x, [=](double v) { return std::clamp(v, low, high); },
      [=](double v, double) { return v < low || v > high ? 0.0 : 1.0; });
}

Var Sum(Var x) {
  double sum = 0;
  for (const double element : x.value()) sum += element;
  Tape* const tape = x.tape;
  return tape->Push({sum}, [tape, x](const Vector& gradient) {
    for (double& element : tape->MutableGradient(x)) element += gradient[0];
  });
}

Var Dot(Var a, Var b) { return Sum(a * b); }

Var Slice(Var x, size_t begin, size_t size) {
  Tape* const tape = x.tape;
  return tape->Push({x.value().begin() + begin, x.value().begin() + begin + size},
                    [tape, x, begin](const Vector& gradient) {
                      Vector& dx = tape->MutableGradient(x);
                      for (size_t i = 0; i < gradient.size(); ++i) dx[begin + i] += gradient[i];
                    });
}

Var Detach(Var x) { return x.tape->Constant(x.value()); }

Var Softmax(Var x) {
  const Var e = Exp(x - Greatest(x));
  return e / Sum(e);
}

Var LogSoftmax(Var x) {
  const Var shifted = x - Greatest(x);
  return shifted - Log(Sum(Exp(shifted)));
}

}  // namespace reprise::reference
