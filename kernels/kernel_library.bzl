"""Kernels: one source compiled by Highway for AVX2 and AVX-512, chosen at run time (kernels/isa)."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools/build_rules:reprise_library.bzl", "reprise_library")

# AVX2 with FMA is the minimum that a machine must have (kernels/isa checks it before any kernel runs). AES and CLMUL
# are part of what Highway 1.0.3 calls AVX2: without them its baseline would silently be SSE4, which has no FMA.
KERNEL_COPTS = [
    "-O3",
    "-march=haswell",
    "-maes",
    "-mpclmul",
    "-ffp-contract=off",
    "-DHWY_DISABLED_TARGETS=(HWY_SSE4|HWY_SSSE3)",
]

def _kernel_library(deps = [], **kwargs):
    cc_library(copts = KERNEL_COPTS, deps = deps + ["@highway"], **kwargs)

def kernel_library(name, **kwargs):
    """A reprise_library whose sources hold vector code. Its .cc files name themselves in HWY_TARGET_INCLUDE."""
    reprise_library(name = name, rule_of_library = _kernel_library, **kwargs)
