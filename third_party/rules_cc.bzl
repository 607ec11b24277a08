"""Finds rules_cc, which Bazel's own C++ toolchain and every BUILD file of this tree load: $RULES_CC_ROOT, then Debian's."""

_DEBIAN = "/usr/share/bazel/rules/cc"

_HELP = """
@rules_cc needs cc/defs.bzl, which {root} does not have.
Install it with:  ./reprise setup    (or: apt-get install bazel-rules-cc)
or point RULES_CC_ROOT at an unpacked release of rules_cc."""

# Debian's release is newer than its Bazel 4.2.3: two rules load use_cpp_toolchain(), which that Bazel does not have yet.
# It would return this list.
_RULES_WITH_TOOLCHAIN = ["cc_flags_supplier", "compiler_flag"]
_WITHOUT_USE_CPP_TOOLCHAIN = {
    "\"find_cpp_toolchain\", \"use_cpp_toolchain\")": "\"find_cpp_toolchain\")",
    "use_cpp_toolchain()": "[\"@bazel_tools//tools/cpp:toolchain_type\"]",
}

def _rules_cc_impl(ctx):
    root = ctx.os.environ.get("RULES_CC_ROOT", "") or _DEBIAN
    if not ctx.path(root + "/cc/defs.bzl").exists:
        fail(_HELP.format(root = root))

    copied = ctx.execute(["cp", "-r", root + "/cc", "."])
    if copied.return_code:
        fail("\n@rules_cc could not be copied from {}: {}".format(root, copied.stderr))
    for rule in _RULES_WITH_TOOLCHAIN:
        path = "cc/private/rules_impl/{}.bzl".format(rule)
        ctx.template(path, root + "/" + path, _WITHOUT_USE_CPP_TOOLCHAIN, executable = False)

rules_cc_repository = repository_rule(
    implementation = _rules_cc_impl,
    environ = ["RULES_CC_ROOT"],
    local = True,
)
