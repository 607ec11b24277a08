#ifndef TESTS_REFERENCE_TAPE_H_
#define TESTS_REFERENCE_TAPE_H_

// Reverse-mode differentiation of vectors in double: what is computed is written down on a tape, which is then read
// backwards. Slow and plain; shares nothing with the product.

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

namespace reprise::reference {

using Vector = std::vector<double>;

class Tape;

// A vector on a tape. Where two are combined element by element, one of size 1 stands for as many as the other has.
struct Var {
  Tape* tape = nullptr;
  size_t at = 0;

  const Vector& value() const;
  double number() const;  // of a vector of size 1
  size_t size() const { return value().size(); }
};

class Tape {
 public:
  // Gives a result's gradient on to what the result was computed from.
  using Pull = std::function<void(const Vector& gradient)>;

  // The weights must outlive the tape.
  explicit Tape(const Vector& weights) : weights_(weights), gradient_(weights.size(), 0.0) {}

  Var Constant(Vector value) { return Push(std::move(value), nullptr); }
  Var Number(double value) { return Constant({value}); }
  // `size` of the weights.
  Var Weights(size_t offset, size_t size);
  // W x, with W the matrix of x.size() columns that begins at `offset` of the weights.
  Var Times(size_t offset, size_t rows, Var x);
  // sum_j share[j] vectors[j].
  Var WeightedSum(Var share, const std::vector<Var>& vectors);
  Var Concat(const std::vector<Var>& parts);

  // Adds d loss / d weights to gradient(); once.
  void Backward(Var loss);
  const Vector& gradient() const { return gradient_; }

  // For the operations.
  Var Push(Vector value, Pull pull);
  Vector& GradientOf(Var var);

 private:
  friend struct Var;
  struct Node {
    Vector value, gradient;
    Pull pull;
  };

  const Vector& weights_;
  Vector gradient_;
  std::deque<Node> nodes_;
};

Var operator+(Var a, Var b);
Var operator-(Var a, Var b);
Var operator*(Var a, Var b);
Var operator/(Var a, Var b);
Var operator*(double a, Var b);
Var operator+(double a, Var b);
Var operator-(Var a);
Var Min(Var a, Var b);  // where both are equal each has half of the gradient, as in PyTorch
Var Max(Var a, Var b);
Var Exp(Var x);
Var Log(Var x);
Var Sqrt(Var x);
Var Sigmoid(Var x);
Var Clamp(Var x, double low, double high);  // without a gradient outside of the bounds
Var Sum(Var x);
Var Dot(Var a, Var b);
Var Slice(Var x, size_t begin, size_t size);
Var Detach(Var x);  // the value, without a gradient
Var Softmax(Var x);
Var LogSoftmax(Var x);

}  // namespace reprise::reference

#endif  // TESTS_REFERENCE_TAPE_H_
