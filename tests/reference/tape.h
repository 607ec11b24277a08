#ifndef TESTS_REFERENCE_TAPE_H_
#define TESTS_REFERENCE_TAPE_H_

// Reverse-mode differentiation of vectors in double: a tape records the operations, and is then traversed backwards.
// Slow and straightforward; shares no code with Reprise.

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

namespace reprise::reference {

using Vector = std::vector<double>;

class Tape;

// A vector on a tape. An element-wise operation on two vectors broadcasts one of size 1 to the size of the other.
struct Var {
  Tape* tape = nullptr;
  size_t at = 0;

  const Vector& value() const;
  double number() const;  // of a vector of size 1
  size_t size() const { return value().size(); }
};

class Tape {
 public:
  // Propagates a result's gradient to the inputs from which it was computed.
  using Pull = std::function<void(const Vector& gradient)>;

  // The weights must outlive the tape.
  explicit Tape(const Vector& weights) : weights_(weights), gradient_(weights.size(), 0.0) {}

  Var Constant(Vector value) { return Push(std::move(value), nullptr); }
  Var Number(double value) { return Constant({value}); }
  // Returns the `size` weights that begin at `offset`.
  Var Weights(size_t offset, size_t size);
  // Returns W x, with W the matrix of x.size() columns that begins at `offset` in the weights.
  Var Times(size_t offset, size_t rows, Var x);
  // Returns sum_j share[j] vectors[j].
  Var WeightedSum(Var share, const std::vector<Var>& vectors);
  Var Concat(const std::vector<Var>& parts);

  // Adds d loss / d weights to gradient(). Call once.
  void Backward(Var loss);
  const Vector& gradient() const { return gradient_; }

  // For the operations.
  Var Push(Vector value, Pull pull);
  Vector& MutableGradient(Var var);

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
Var Min(Var a, Var b);  // if both are equal, each gets half of the gradient, as in PyTorch
Var Max(Var a, Var b);
Var Exp(Var x);
Var Log(Var x);
Var Sqrt(Var x);
Var Sigmoid(Var x);
Var Clamp(Var x, double low, double high);  // no gradient outside the bounds
Var Sum(Var x);
Var Dot(Var a, Var b);
Var Slice(Var x, size_t begin, size_t size);
Var Detach(Var x);  // the value, without a gradient
Var Softmax(Var x);
Var LogSoftmax(Var x);

}  // namespace reprise::reference

#endif  // TESTS_REFERENCE_TAPE_H_
