#!/usr/bin/env bash
# Builds llama.cpp's own benchmarks (llama-bench, llama-batched-bench) for compare.py, from the sources in a pinned
# release of llama-cpp-python, tuned for this machine. Needs pip, cmake and a C++ compiler.
#   build_llama.sh DIRECTORY [JOBS]
set -euo pipefail
release=0.3.36 # contains llama.cpp 0c1e57098
mkdir -p "$1"
cd "$1"
sources=llama_cpp_python-$release
[[ -d $sources ]] || {
  python3 -m pip download --quiet --no-binary :all: --no-deps "llama-cpp-python==$release"
  tar xzf "$sources.tar.gz"
}
options=(CMAKE_BUILD_TYPE=Release GGML_NATIVE=ON GGML_CCACHE=OFF BUILD_SHARED_LIBS=OFF LLAMA_BUILD_TESTS=OFF)
for feature in LLAMA_CURL LLAMA_OPENSSL LLAMA_BUILD_SERVER LLAMA_BUILD_APP LLAMA_BUILD_UI LLAMA_USE_PREBUILT_UI; do
  options+=("$feature=OFF")
done
cmake -S "$sources/vendor/llama.cpp" -B build "${options[@]/#/-D}" >cmake.log
cmake --build build --parallel "${2:-2}" --target llama-bench llama-batched-bench >build.log
ls build/bin/llama-bench build/bin/llama-batched-bench
