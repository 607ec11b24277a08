"""A library and its test in one block, reprise_library, and a test that belongs to no one library, reprise_test.

Both know the names that files have here: a target NAME without sources has NAME.h and NAME.cc, its test NAME_test.cc.
"""

load("//tools/precompiled:rules.bzl", "cc_library", "cc_test")

_SOURCES = ["srcs", "hdrs", "textual_hdrs"]
_OF_TEST = "test_"

def _place(label):
    """Returns the key by which BUILD files sort labels: of the package, of the workspace, of other repositories."""
    return (0 if label.startswith(":") else 1 if label.startswith("//") else 2, label)

def _with(deps, label):
    """Returns `deps` with `label` where a BUILD file would have it: libraries are linked in this order."""
    later = [i for i, dep in enumerate(deps) if _place(dep) > _place(label)]
    at = later[0] if later else len(deps)
    return deps[:at] + [label] + deps[at:]

def reprise_test(name, srcs = None, size = "small", deps = [], **kwargs):
    """Declares a cc_test of GoogleTest's main(); its source is NAME.cc unless `srcs` names others."""
    cc_test(
        name = name,
        size = size,
        srcs = srcs or [name + ".cc"],
        deps = _with(deps, "@googletest//:gtest_main"),
        **kwargs
    )

def reprise_library(name, test_deps = None, rule_of_library = cc_library, **kwargs):
    """Declares the cc_library NAME and, if it has `test_deps`, the reprise_test NAME_test.

    Args:
      name: the library's; its files are NAME.h and NAME.cc unless srcs, hdrs or textual_hdrs name others
      test_deps: what NAME_test depends on besides the library and GoogleTest; [] for nothing else
      rule_of_library: the rule or macro that makes the library
      **kwargs: attributes of the library; with test_ before their names, such as test_size, those of the test
    """
    library = {key: value for key, value in kwargs.items() if not key.startswith(_OF_TEST)}
    test = {key[len(_OF_TEST):]: value for key, value in kwargs.items() if key.startswith(_OF_TEST)}
    if not [key for key in _SOURCES if key in library]:
        library.update(srcs = [name + ".cc"], hdrs = [name + ".h"])
    rule_of_library(name = name, **library)

    if test_deps != None:
        reprise_test(name = name + "_test", deps = _with(test_deps, ":" + name), **test)
    elif test:
        fail("{} has attributes of a test but no test_deps: write test_deps = [] if it needs no others".format(name))
