"""The cc_library, cc_binary and cc_test of this workspace (tools/build_rules/prelude_bazel, reprise_library.bzl).

They are those of @rules_cc, except that their sources read a precompiled header. Compiling a source spent most of its
time on parsing the same headers of the standard library, Abseil and GoogleTest: now a library's source takes half of
the time, a test a half to a third. `--define=precompiled_headers=off` builds without it: then a forgotten #include is
an error.
"""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")

# A test's own code, unlike the libraries that it tests, is compiled with little optimisation, because compiling it
# takes longer than running it.
TEST_COPTS = ["-O1"]

def _precompiled(name, extra_copts = []):
    header = "//tools/precompiled:" + name
    return struct(
        copts = extra_copts + select({
            "//tools/precompiled:off": [],
            "//conditions:default": ["-include", "tools/precompiled/{}.h".format(name)],
        }),
        deps = select({"//tools/precompiled:off": [], "//conditions:default": [header]}),
    )

def cc_library(copts = [], deps = [], srcs = [], **kwargs):
    common = _precompiled("common") if srcs else struct(copts = [], deps = [])
    _cc_library(srcs = srcs, copts = common.copts + copts, deps = deps + common.deps, **kwargs)

def cc_binary(copts = [], deps = [], **kwargs):
    common = _precompiled("common")
    _cc_binary(copts = common.copts + copts, deps = deps + common.deps, **kwargs)

def cc_test(copts = [], deps = [], **kwargs):
    testing = _precompiled("testing", TEST_COPTS)
    _cc_test(copts = testing.copts + copts, deps = deps + testing.deps, **kwargs)
