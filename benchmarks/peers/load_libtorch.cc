// An almost empty program, with which start-up times are compared: it loads LibTorch, calls one function of it and
// ends.

#include <ATen/Parallel.h>

int main() { return at::get_num_threads() > 0 ? 0 : 1; }
