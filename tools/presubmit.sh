#!/usr/bin/env bash
# Checks a change before it is sent: format, clang-tidy, shellcheck (where installed) and the small tests of the
# packages it touches. ./reprise test runs all tests.
#
#   tools/presubmit.sh [--fix] [BASE]    the change since BASE (default: where this branch left main); --fix formats
#   tools/presubmit.sh --all             every source; the only tests are those of tests/architecture
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly CLANG_FORMAT_VERSION=23.1.5 CLANG_TIDY_VERSION=23.1.4
readonly LINT=.deps/lint-$CLANG_FORMAT_VERSION-$CLANG_TIDY_VERSION
# The options of .bazelrc and kernels/kernel_library.bzl that affect the meaning of a source.
readonly COMPILE=(
  -std=c++20 -I. -UNDEBUG -march=haswell -maes -mpclmul "-DHWY_DISABLED_TARGETS=(HWY_SSE4|HWY_SSSE3)"
  -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL -DOMPI_SKIP_MPICXX -DAT_PER_OPERATOR_HEADERS
  ${HDF5_ROOT:+-isystem "$HDF5_ROOT/include"} -isystem /usr/include/hdf5/serial
  ${MPI_ROOT:+-isystem "$MPI_ROOT/include"} -isystem /usr/lib/x86_64-linux-gnu/openmpi/include
)

say() { printf 'presubmit: %s\n' "$*" >&2; }
fail() {
  say "$2"
  exit "$1"
}
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }

# The wheels contain plain programs; Python only unpacks them.
install_linters() {
  [[ -e $LINT/.complete ]] && return 0
  say "unpacking clang-format $CLANG_FORMAT_VERSION and clang-tidy $CLANG_TIDY_VERSION into $LINT"
  python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps --upgrade \
    --target "$LINT" "clang-format==$CLANG_FORMAT_VERSION" "clang-tidy==$CLANG_TIDY_VERSION" ||
    fail 74 "pip could not install the wheels of clang-format and clang-tidy"
  touch "$LINT/.complete"
}

# changed_since BASE: sources that exist and differ from BASE, committed or not.
changed_since() {
  {
    git diff --name-only --diff-filter=d "$1"
    git ls-files --others --exclude-standard
  } | sort -u
}

select_suffix() { # PATTERN FILE...
  local pattern=$1
  shift
  printf '%s\n' "$@" | grep -E "$pattern" | grep -v '^third_party/' || true
}

check_format() {
  local mode=(--dry-run --Werror)
  [[ $fix == yes ]] && mode=(-i)
  "$LINT/clang_format/data/bin/clang-format" "${mode[@]}" "$@"
}

# A header is checked through its source file, which includes it as its users do; partial headers are not checked
# separately.
translation_units() {
  local file
  for file in "$@"; do
    case $file in
      *-inl.h) ;;
      *.h) if [[ -e ${file%.h}.cc ]]; then echo "${file%.h}.cc"; else echo "$file"; fi ;;
      *) echo "$file" ;;
    esac
  done | sort -u
}

# LibTorch's folder comes last, because it contains other versions of libraries that Reprise uses.
check_tidy() {
  local torch=${LIBTORCH_ROOT:-$(printf '%s\n' .deps/venv/lib/python3*/site-packages/torch | head -n 1)}
  printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I{} \
    "$LINT/clang_tidy/data/bin/clang-tidy" --quiet {} -- -x c++ "${COMPILE[@]}" \
    -idirafter "$torch/include" -idirafter "$torch/include/torch/csrc/api/include" 2> >(grep -v 'warnings\? generated' >&2)
}

# The packages of the given files, and the architecture tests, which every change can affect.
packages_of() {
  local file folder
  for file in "$@"; do
    folder=$(dirname "$file")
    [[ $folder != . && $folder != tests/architecture && -e $folder/BUILD.bazel ]] && echo "//$folder:all"
  done | sort -u
  echo //tests/architecture:all
}

fix=no all=no base=
for argument in "$@"; do
  case $argument in
    --fix) fix=yes ;;
    --all) all=yes ;;
    -h | --help) usage && exit 0 ;;
    -*) usage >&2 && fail 64 "unknown option: $argument" ;;
    *) base=$argument ;;
  esac
done

if [[ $all == yes ]]; then
  mapfile -t files < <(git ls-files)
else
  base=${base:-$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)}
  git rev-parse -q --verify "$base^{commit}" >/dev/null || fail 64 "$base is not a commit"
  mapfile -t files < <(changed_since "$base")
  ((${#files[@]})) || fail 0 "nothing differs from $base"
fi
mapfile -t sources < <(select_suffix '\.(h|cc)$' "${files[@]}")
mapfile -t scripts < <(select_suffix '(\.sh|^reprise|^\.ci/run)$' "${files[@]}")

if ((${#sources[@]})); then
  install_linters
  say "clang-format: ${#sources[@]} files"
  check_format "${sources[@]}" || fail 1 "clang-format would change these; tools/presubmit.sh --fix does"
  mapfile -t units < <(translation_units "${sources[@]}")
  say "clang-tidy: ${#units[@]} files"
  ((${#units[@]} == 0)) || check_tidy "${units[@]}" || fail 1 "clang-tidy reported errors"
fi
if ((${#scripts[@]})) && command -v shellcheck >/dev/null; then
  say "shellcheck: ${#scripts[@]} files"
  shellcheck -S warning "${scripts[@]}" || fail 1 "shellcheck reported errors"
fi
if [[ $all == yes ]]; then
  packages=(//tests/architecture:all)
else
  mapfile -t packages < <(packages_of "${files[@]}")
fi
say "tests: ${packages[*]}"
bazel test --noshow_progress --ui_event_filters=-info --test_size_filters=small,medium "${packages[@]}" ||
  fail 1 "a test failed"
say "passed"
