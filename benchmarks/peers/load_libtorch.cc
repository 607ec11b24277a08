// The empty program that start-up is measured against: it loads LibTorch, asks it one thing and ends.

#include <ATen/Parallel.h>

int main() { return at::get_num_threads() > 0 ? 0 : 1; }
