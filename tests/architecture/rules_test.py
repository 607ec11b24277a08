"""Each rule reports a fault in a bad example, and none in a good one."""

import unittest

import code_rules
import comment_rules
import package_map
import rules
from source_file import SourceFile


def broken(path, text, test_only=False):
    """Returns the names of the rules that `text` at `path` breaks."""
    return {fault.rule for fault in rules.faults_of_source(SourceFile(path, text, test_only))}


def include(header):
    return f'#include "{header}"\n'


class CommentRulesTest(unittest.TestCase):

    def test_a_name_in_a_comment_exists(self):
        code = SourceFile("core/a/a.h", "int FindAll(int k);  // as InvalidArgument says\n")
        good = SourceFile("core/a/b.cc", '// See FindAll, NaNs and a Word.\n//   Example OfIts own;\nLog("// NoComment");\n')
        bad = SourceFile("core/a/c.cc", "int x = 0;  // FindNone gives kNothing\n")
        self.assertEqual(list(comment_rules.names([code, good])), [])
        self.assertEqual([(fault.line, fault.message) for fault in comment_rules.names([code, bad])],
                         [(1, "the comment names FindNone, which does not exist"),
                          (1, "the comment names kNothing, which does not exist")])


class IncludeRulesTest(unittest.TestCase):

    def test_layers_include_only_the_layers_below_them(self):
        good = [("pipelines", "rl"), ("rl", "models"), ("rl", "data"), ("models", "kernels"), ("data", "kernels"),
                ("kernels", "core"), ("rl", "core"), ("rl", "rl")]
        bad = [("core", "kernels"), ("kernels", "models"), ("kernels", "data"), ("models", "data"), ("data", "models"),
               ("models", "rl"), ("data", "rl"), ("rl", "pipelines"), ("core", "pipelines")]
        for user, used in good:
            self.assertEqual(broken(f"{user}/a/a.cc", include(f"{used}/b/b.h")), set(), (user, used))
        for user, used in bad:
            self.assertEqual(broken(f"{user}/a/a.cc", include(f"{used}/b/b.h")), {"layers"}, (user, used))

    def test_nothing_includes_tests_and_benchmarks(self):
        self.assertEqual(broken("rl/a/a.cc", include("tests/mpi/b.h")), {"layers"})
        self.assertEqual(broken("tools/a.cc", include("benchmarks/b.h")), {"beside"})
        self.assertEqual(broken("benchmarks/a.cc", include("tests/b.h")), {"beside"})
        self.assertEqual(broken("tests/mpi/a.cc", include("pipelines/b.h") + include("tests/mpi/c.h")), set())

    def test_libraries_are_included_in_their_folders_only(self):
        walls = {
            "mpi-wall": ("mpi.h", "core/comm/mpi/world.cc", "rl/learner/learner.cc"),
            "hdf5-wall": ("hdf5.h", "data/artifact/format/hdf5/handle.h", "data/artifact/run_reader.cc"),
            "sqlite-wall": ("sqlite3.h", "data/memory/sqlite/database.h", "data/memory/long_term_store.h"),
            "torch-wall": ("ATen/ATen.h", "models/torch/tensors.cc", "kernels/rows/softmax.cc"),
            "highway-wall": ("hwy/highway.h", "kernels/rows/softmax.cc", "models/decoder/forward.cc"),
            "spdlog-wall": ("spdlog/logger.h", "core/log/logger.cc", "core/log/logger.h"),
        }
        for rule, (header, inside, outside) in walls.items():
            for line in (f"#include <{header}>\n", include(header), f"  #  include <{header}>  // why\n"):
                self.assertEqual(broken(inside, line), set(), rule)
                self.assertEqual(broken(outside, line), {rule}, rule)
        self.assertEqual(broken("rl/loss/loss.cc", "#include <torch/nn.h>\n"), {"torch-wall"})
        self.assertEqual(broken("rl/loss/loss.cc", "#include <c10/core/Scalar.h>\n"), {"torch-wall"})

    def test_headers_do_not_hand_on_costly_ones(self):
        for header in ("nlohmann/json.hpp", "simdjson.h", "CLI/CLI.hpp", "gtest/gtest.h", "toml++/toml.hpp"):
            for path in ("core/json/json.h", "pipelines/a.h", "benchmarks/peers/a.h"):
                self.assertEqual(broken(path, include(header)), {"costly-header"}, (path, header))
            self.assertEqual(broken("core/json/json.cc", include(header)), set(), header)
            self.assertEqual(broken("tests/cli/cli.h", include(header), test_only=True), set(), header)
        self.assertEqual(broken("pipelines/a.h", include("nlohmann/json_fwd.hpp")), set())

    def test_the_algorithm_knows_no_completions(self):
        headers = ("rl/record/completions/completion_record.h", "models/tokenizer/tokenizer.h", "rl/episodes/sources.h",
                   "rl/environment/reply.h", "rl/environments/environments.h", "models/generation/generate.h",
                   "rl/policy/decoder/decoder_policy.h", "rl/workloads/completions/options.h")
        for header in headers:
            for path in ("rl/learner/learner.cc", "rl/gradient/updater.h", "rl/metrics/step_metrics.cc", "rl/loss/a.h",
                         "rl/advantage/a.cc", "rl/value/gae.cc", "rl/policy/policy.h"):
                self.assertEqual(broken(path, include(header)), {"algorithm"}, (path, header))
            for path in ("rl/policy/decoder/a.cc", "rl/workloads/completions/a.cc", "rl/evaluation/evaluate.cc"):
                self.assertEqual(broken(path, include(header)), set(), (path, header))
            self.assertEqual(broken("rl/learner/tests/a.cc", include(header), test_only=True), set(), header)
            self.assertEqual(broken("rl/loss/a_test.cc", include(header), test_only=True), set(), header)
        self.assertEqual(broken("rl/learner/learner.cc", include("rl/record/step_record.h")), set())

    def test_an_include_in_a_comment_is_ignored(self):
        self.assertEqual(broken("core/a/a.h", '// #include "rl/a.h"\n/*\n#include "rl/a.h"\n*/\n'), set())

    def test_only_tests_include_headers_of_testonly_targets(self):
        tree = {
            "core/a/BUILD.bazel": 'package(default_visibility = ["//:above_core"])\n'
                                  'cc_library(name = "fake", testonly = True, hdrs = ["fake.h"])\n'
                                  'cc_library(name = "a", srcs = ["a.cc"])\n'
                                  'cc_test(name = "a_test", srcs = ["a_test.cc"])\n',
            "core/a/fake.h": "",
            "core/a/a.cc": include("core/a/fake.h"),
            "core/a/a_test.cc": include("core/a/fake.h"),
        }
        self.assertEqual([(f.path, f.rule) for f in rules.faults_of_tree(tree)], [("core/a/a.cc", "test-headers")])
        for rule in ("reprise_library", "kernel_library"):
            tree["core/a/BUILD.bazel"] = ('package(default_visibility = ["//:above_core"])\n'
                                          f'{rule}(name = "fake", testonly = True)\n'
                                          f'{rule}(name = "a", srcs = ["a.cc"], test_deps = [":fake"])\n')
            found = [(f.path, f.rule) for f in rules.faults_of_tree(tree)]
            self.assertEqual(found, [("core/a/a.cc", "test-headers")], rule)


class CodeRulesTest(unittest.TestCase):

    def test_no_libm_in_the_language_model_path(self):
        for call in ("std::exp(x)", "std::pow(x, 2)", "::logf(x)", "sin (x)", "double y = tanh(x)", "Map(std::cos)"):
            for layer in ("rl", "models", "kernels", "data"):
                self.assertEqual(broken(f"{layer}/a/a.cc", f"void F() {{ {call}; }}\n"), {"libm"}, call)
        for call in ("Exp(x)", "std::sqrt(x)", "std::fma(x, y, z)", "logger.log(x)", "logger->log(x)", "hn::Log(d, x)",
                     "log_sum(x)", "std::log_2(x)", "// std::exp(x)", 'Say("std::exp(x)")'):
            self.assertEqual(broken("rl/a/a.cc", f"void F() {{\n  {call};\n}}\n"), set(), call)

    def test_tests_may_use_libm_for_expected_values(self):
        self.assertEqual(broken("rl/a/a_test.cc", "double y = std::exp(1.0);\n", test_only=True), set())

    def test_no_sum_without_a_fixed_order(self):
        self.assertEqual(broken("rl/a/a.cc", "auto s = std::reduce(a, b);\n"), {"unordered-sum"})
        self.assertEqual(broken("rl/a/a.cc", "auto s = std::accumulate(a, b, 0.0);\n"), set())

    def test_no_hashed_containers_where_numbers_are_computed(self):
        self.assertEqual(broken("rl/a/a.h", "absl::flat_hash_map<int, int> m;\n"), {"hashed-order"})
        self.assertEqual(broken("models/olmoe/a.h", "absl::flat_hash_map<int, int> m;\n"), set())

    def test_no_random_number_generators(self):
        for text in ("#include <random>\n", '#include "absl/random/random.h"\n', "std::mt19937 g;\n",
                     "int x = rand();\n", "std::uniform_int_distribution<int> d;\n", "absl::BitGen g;\n",
                     "std::shuffle(a, b, g);\n"):
            self.assertEqual(broken("core/a/a.cc", text), {"random"}, text)
        self.assertEqual(broken("rl/a/a.cc", "auto u = DrawUniform(seed, purpose, at); Operand(x); a.rand(y);\n"), set())

    def test_purposes_of_draws_have_values_of_their_own(self):
        shared = SourceFile("core/random/draw.h", "enum class Purpose : uint8_t {\n  kTask = 2,  // = 3\n  kTest = 255,\n};\n")
        own = "namespace a {\ninline constexpr Purpose kOwn{%d};\n}\n"
        self.assertEqual(list(code_rules.purposes([shared, SourceFile("rl/a/a.h", own % 3)])), [])
        self.assertEqual([(fault.path, fault.line) for fault in code_rules.purposes([shared, SourceFile("rl/a/a.h", own % 2)])],
                         [("rl/a/a.h", 2)])
        twice = [SourceFile("rl/a/a.h", own % 7), SourceFile("rl/b/b.h", own % 7)]
        self.assertEqual([fault.message for fault in code_rules.purposes(twice)],
                         ["kOwn has the value 7 of kOwn in rl/a/a.h: use a new one"])

    def test_only_the_programs_read_a_clock(self):
        for text in ("#include <chrono>\n", "auto t = std::chrono::steady_clock::now();\n", "long t = time(nullptr);\n",
                     "auto t = std::time(nullptr);\n", "auto t = absl::Now();\n", "clock_gettime(0, &t);\n"):
            self.assertEqual(broken("rl/a/a.cc", text), {"clock"}, text)
            self.assertEqual(broken("pipelines/a.cc", text), set(), text)
        self.assertEqual(broken("rl/a/a.cc", "auto t = clock->Now(); a.time(); run_time(x);\n"), set())

    def test_mpi_reduces_integers_only(self):
        call = "MPI_Allreduce(f(a), b, n,\n    {}, MPI_SUM, c);\n"
        for bad in ("MPI_FLOAT", "MPI_DOUBLE", "type"):
            self.assertEqual(broken("core/comm/a.cc", call.format(bad)), {"float-reduction"}, bad)
            self.assertEqual(broken("benchmarks/a.cc", call.format(bad)), {"float-reduction"}, bad)
        self.assertEqual(broken("core/comm/a.cc", call.format("MPI_INT64_T")), set())
        self.assertEqual(broken("core/comm/a.cc", "MPI_Ireduce(a, b, n, MPI_FLOAT, MPI_SUM, 0, c, &r);\n"),
                         {"float-reduction"})

    def test_only_a_source_that_catches_may_throw(self):
        self.assertEqual(broken("core/a/a.cc", "void F() { throw 1; }\n"), {"throw"})
        self.assertEqual(broken("core/a/a.h", "void F() { try { throw 1; } catch (int) {} }\n"), {"throw"})
        self.assertEqual(broken("core/a/a.cc", "void F() { try { throw 1; } catch (int) {} }\n"), set())
        self.assertEqual(broken("core/a/a.h", "// must not throw\n"), set())

    def test_unfinished_code_is_reported(self):
        self.assertEqual(broken("core/a/a.h", "// TODO: more\n"), {"unfinished"})


class SizeRulesTest(unittest.TestCase):

    def test_files_have_at_most_500_lines(self):
        self.assertEqual(broken("core/a/a.cc", "\n" * 500), set())
        self.assertEqual(broken("core/a/a.cc", "\n" * 501), {"file-length"})
        self.assertEqual(broken("tools/a.sh", "\n" * 501), {"file-length"})
        self.assertEqual(broken("core/a/BUILD.bazel", "\n" * 501), set())

    def test_public_functions_have_at_most_8_parameters(self):
        def declared(count):
            kinds = ("int64_t a{}", "const std::vector<std::pair<int, int>>& a{}", "float* a{} = nullptr",
                     "const std::function<void(int x, int y)>& a{}")
            return ", ".join(kinds[i % len(kinds)].format(i) for i in range(count))

        for head in ("void F(", "absl::StatusOr<int> C::F(", " public:\n  explicit C(", "template <class T>\nT F("):
            self.assertEqual(broken("rl/a/a.h", f"{head}{declared(8)});\n"), set(), head)
            self.assertEqual(broken("rl/a/a.h", f"{head}{declared(9)});\n"), {"parameters"}, head)
        self.assertEqual(broken("rl/a/a.cc", f"void F({declared(9)}) {{}}\n"), set())
        self.assertEqual(broken("rl/a/a.h", f"void F({declared(9)});\n", test_only=True), set())
        self.assertEqual(broken("rl/a/a.h", "int x = F(a, b, c, d, e, f, g, h, i);\n"), set())

    def test_functions_have_at_most_80_lines(self):
        heads = [
            "void F(int x) {",
            "TEST(SuiteTest, Name) {",
            "template <class T, typename U = std::map<T, T>>\nauto F(const T& x) -> U {",
            "namespace a {\nclass B : public C {\n public:\n  explicit B(int x) : x_{x}, y_(1) {",
            "bool operator==(const A& a, const A& b) {",
        ]
        for head in heads:
            closing = "}\n" * head.count("{", 0, head.rindex("{") + 1)
            lines = head.split("class B")[-1].count("\n") + 1  # lines of the head, at most
            short = head + "\n" + "  x;\n" * (79 - lines) + closing
            long = head + "\n" + '  if (x) { y = "}"; }\n' * 80 + closing
            self.assertEqual(broken("core/a/a.cc", short), set(), head)
            self.assertEqual(broken("core/a/a.cc", long), {"function-length"}, head)

    def test_classes_namespaces_and_tables_are_not_functions(self):
        for head in ("namespace a {", "class A : public B<int> {", "enum class E : int {", "constexpr C kAll[] = {"):
            self.assertEqual(broken("core/a/a.h", head + "\n" + "  F(x);\n" * 90 + "};\n"), set(), head)

    def test_every_long_function_is_reported_at_its_first_line(self):
        text = "int a;\n\n" + ("void F() {\n" + "  x;\n" * 90 + "}\n") * 2
        faults = rules.faults_of_source(SourceFile("core/a/a.cc", text))
        self.assertEqual([fault.line for fault in faults], [3, 95])

    def test_python_functions_have_the_same_limit(self):
        self.assertEqual(broken("tools/a.py", "def f():\n" + "  x = 1\n" * 80), {"function-length"})
        self.assertEqual(broken("tools/a.py", "def f():\n" + "  x = 1\n" * 79), set())


class BuildRulesTest(unittest.TestCase):

    def faults(self, path, text, sources=()):
        return [(f.rule, f.line) for f in rules.faults_of_tree({path: text, **{source: "" for source in sources}})]

    def test_a_layer_is_visible_to_the_layers_above_only(self):
        package = 'package(default_visibility = ["{}"])\n\ncc_library(name = "a")\n'
        for label in ("//:above_models", "//models:__subpackages__", "//rl/loss:__pkg__", "//visibility:private",
                      "//benchmarks:__subpackages__"):
            self.assertEqual(self.faults("models/a/BUILD.bazel", package.format(label)), [], label)
        for label in ("//visibility:public", "//:above_core", "//:above_kernels", "//data:__subpackages__"):
            self.assertEqual(self.faults("models/a/BUILD.bazel", package.format(label)), [("visibility", 3)], label)

    def test_every_source_belongs_to_a_target(self):
        build = 'cc_library(name = "a", srcs = ["a.cc"], hdrs = ["a.h"] + ["b.h"])\n'
        self.assertEqual(self.faults("core/a/BUILD.bazel", build, ["core/a/a.cc", "core/a/a.h", "core/a/b.h"]), [])
        self.assertEqual(self.faults("core/a/BUILD.bazel", build, ["core/a/c.cc"]), [("orphan", 1)])

    def test_the_sources_of_a_library_and_its_test_are_found_by_their_names(self):
        named = ["core/a/a.cc", "core/a/a.h"]
        for rule in ("reprise_library", "kernel_library"):
            for build, held in (('name = "a"', named),
                                ('name = "a", test_deps = []', [*named, "core/a/a_test.cc"]),
                                ('name = "a", test_deps = [], test_srcs = ["b.cc"]', [*named, "core/a/b.cc"]),
                                ('name = "a", hdrs = ["b.h"], test_deps = []', ["core/a/b.h", "core/a/a_test.cc"]),
                                ('name = "a", srcs = ["b.cc"], hdrs = ["a.h"]', ["core/a/b.cc", "core/a/a.h"]),
                                ('name = "a", textual_hdrs = ["a-inl.h"]', ["core/a/a-inl.h"])):
                for path in (*named, "core/a/a_test.cc", "core/a/b.cc", "core/a/b.h", "core/a/a-inl.h"):
                    self.assertEqual(self.faults("core/a/BUILD.bazel", f"{rule}({build})\n", [path]),
                                     [] if path in held else [("orphan", 1)], (rule, build, path))
        self.assertEqual(self.faults("core/a/BUILD.bazel", 'reprise_test(name = "a_test")\n', ["core/a/a_test.cc"]), [])
        self.assertEqual(self.faults("core/a/BUILD.bazel", 'reprise_test(name = "a_test", srcs = ["b.cc"])\n',
                                     ["core/a/a_test.cc"]), [("orphan", 1)])

    def test_the_visibility_of_a_library_with_a_test_is_checked(self):
        library = 'reprise_library(\n    name = "a",\n    test_deps = [],\n    visibility = ["{}"],\n)\n'
        self.assertEqual(self.faults("models/a/BUILD.bazel", library.format("//:above_models")), [])
        self.assertEqual(self.faults("models/a/BUILD.bazel", library.format("//data:__subpackages__")),
                         [("visibility", 1)])
        package = 'package(default_visibility = ["//:above_core"])\n' + library.format("//:above_models")
        self.assertEqual(self.faults("models/a/BUILD.bazel", package), [("visibility", 2)])  # of the test alone


class DocumentRulesTest(unittest.TestCase):

    def test_targets_and_files_that_a_document_names_must_exist(self):
        tree = {"core/a/BUILD.bazel": 'reprise_library(name = "a", hdrs = [], test_deps = [])\n',
                "core/a/a_test.cc": ""}
        for good in ("`//core/a:a`", "`//core/a:a_test`", "`core/a/a_test.cc`", "`core/a/*.cc`", "`my/run.toml`",
                     "core/b/b.h in prose", "`bazel test //core/a:all`", "`core/a:a_test`", "`eval/of:that`"):
            self.assertEqual(rules.faults_of_tree({**tree, "docs/a.md": good}), [], good)
        targets = ("`//core/a:b_test`", "`core/a:b_test`", "`core/b:a_test`", "`bazel test //core/b:a_test`")
        for bad in (*targets, "`core/a/b.h`", "`see core/a/b_test.cc`"):
            found = rules.faults_of_tree({**tree, "docs/a.md": "\n" + bad})
            self.assertEqual([(f.rule, f.line) for f in found], [("document", 2)], bad)

    def test_rows_of_a_table_have_as_many_cells_as_its_header(self):
        for good in ("| a | b |\n|---|---|\n| c | d |", "| a |\n|:--|\n| `x \\| y` |", "| no | table |", "a | b\n\nc"):
            self.assertEqual(rules.faults_of_tree({"docs/a.md": good}), [], good)
        for bad in ("| a | b |\n|---|---|\n| c |", "| a | b |\n|---|---|\n| the greatest |x - y| | d |",
                    "| a | b |\n|---|---|\n| `x|y` | d |"):
            found = rules.faults_of_tree({"docs/a.md": bad})
            self.assertEqual([(f.rule, f.line) for f in found], [("table", 3)], bad)

    def test_links_lead_to_files(self):
        tree = {"a.md": "", "docs/b.md": "", "docs/c/d.md": ""}
        for good in ("[a](../a.md)", "[b](b.md#part)", "[d](c/d.md)", "[part](#part)", "[far](https://a.org/b.md)"):
            self.assertEqual(rules.faults_of_tree({**tree, "docs/e.md": good}), [], good)
        for bad in ("[a](a.md)", "[b](../b.md#part)", "[d](d.md)"):
            found = rules.faults_of_tree({**tree, "docs/e.md": "\n" + bad})
            self.assertEqual([(f.rule, f.line) for f in found], [("link", 2)], bad)

    def test_the_index_links_to_every_document(self):
        tree = {"a.md": "", "docs/b.md": "", "docs/README.md": "[a](../a.md) [b](b.md)"}
        self.assertEqual(rules.faults_of_tree(tree), [])
        found = rules.faults_of_tree({**tree, "rl/c/d.md": ""})
        self.assertEqual([(f.rule, f.path) for f in found], [("index", "rl/c/d.md")])


_GUIDE = """# Add a toy

<!-- example: toy -->

## 1. The source

Files: `rl/loss/toy.cc`, `rl/loss/BUILD.bazel`

`Double` in `rl/loss/toy.cc` doubles:

```cpp
double Double(double x) {
...
}
```

`rl/loss/test.cc` checks it (`TwosTest.Double`).

```
./reprise test //rl/loss/... //rl/loss:test
./reprise bench Toy
```

Nothing else uses `//rl/loss`. `2 * x` is exact.

## Other files

- `benchmarks/loss.cc`: measures it.
"""


class GuideRulesTest(unittest.TestCase):

    tree = {
        "rl/loss/toy.cc": "double Double(double x) {\n  return 2 * x;\n}\n",
        "rl/loss/test.cc": "TEST(TwosTest, Double) {}\n",
        "rl/loss/BUILD.bazel": 'cc_library(name = "loss", srcs = ["toy.cc"])\n'
                               'cc_test(name = "test", srcs = ["test.cc"])\n',
        "benchmarks/loss.cc": "BENCHMARK(BM_Toy);\n",
    }

    def messages(self, guide, **more):
        texts = {**self.tree, **more, "docs/guides/add_a_toy.md": guide}
        return [fault.message for fault in rules.faults_of_tree(texts) if fault.rule == "guide"]

    def test_a_guide_that_agrees_with_the_tree_has_no_faults(self):
        self.assertEqual(self.messages(_GUIDE), [])

    def test_what_a_guide_quotes_must_exist(self):
        for right, wrong, missing in (
            ("TwosTest.Double", "TwosTest.Halves", "`TwosTest.Halves` in rl/loss/test.cc"),
            ("`Double` in", "`Triple` in", "`Triple` in rl/loss/toy.cc"),
            ("`2 * x`", "`3 * x`", "`3 * x` in"),
            ("`rl/loss/test.cc`", "`rl/loss/tests.cc`", "file rl/loss/tests.cc"),
            ("`//rl/loss`", "`//rl/toy`", "target //rl/toy"),
            ("//rl/loss/...", "//rl/toys/...", "target //rl/toys/..."),
            ("//rl/loss:test", "//rl/loss:tests", "target //rl/loss:tests"),
            ("bench Toy", "bench Boy", "benchmark Boy"),
            ("./reprise test", "make test", "known command make test"),
            ("double Double(double x) {", "int Double(int x) {", "the line: int Double(int x) {"),
        ):
            found = self.messages(_GUIDE.replace(right, wrong))
            self.assertIn(missing, " ".join(found), right)
        self.assertIn("in this order", " ".join(self.messages(_GUIDE.replace("...\n}", "}\nreturn 2 * x;"))))
        self.assertIn("in one line", " ".join(self.messages(_GUIDE.replace("`2 * x`", "`2 *\nx`"))))
        self.assertIn("has no comment", " ".join(self.messages(_GUIDE.replace("example:", "sample:"))))

    def test_a_guide_lists_exactly_the_files_with_its_example(self):
        (fault,) = self.messages(_GUIDE.replace(", `rl/loss/BUILD.bazel`", ""))
        self.assertIn("rl/loss/BUILD.bazel has toy, but no step lists it", fault)
        (fault,) = self.messages(_GUIDE, **{"rl/config/keys.cc": "// TOY\n"})
        self.assertIn("rl/config/keys.cc has toy, but no step lists it", fault)
        (fault,) = self.messages(_GUIDE, **{"configs/toy.toml": ""})
        self.assertIn("configs/toy.toml has toy, but no step lists it", fault)
        (fault,) = self.messages(_GUIDE.replace("`rl/loss/BUILD.bazel`", "`rl/loss/BUILD.bazel`, `rl/loss/test.cc`"))
        self.assertIn("rl/loss/test.cc does not have toy: do not list it", fault)
        (fault,) = self.messages(_GUIDE.replace("- `benchmarks/loss.cc`", "- `benchmarks/loss.cc`, `rl/loss/toy.cc`"))
        self.assertIn("rl/loss/toy.cc belongs to a step and to the other files", fault)

    def test_a_guide_describes_every_function_of_its_interfaces(self):
        guide = _GUIDE.replace("<!-- example: toy -->", "<!-- example: toy -->\n<!-- interfaces: rl/loss/test.h -->")
        header = "class Test {\n  virtual ~Test() = default;\n  virtual int Double(\n      int x) const = 0;\n"
        self.assertEqual(self.messages(guide, **{"rl/loss/test.h": header + "};\n"}), [])
        (fault,) = self.messages(guide, **{"rl/loss/test.h": header + "  virtual A<B> Halve(C c) = 0;\n};\n"})
        self.assertIn("it does not describe Halve of rl/loss/test.h", fault)
        (fault,) = self.messages(guide)
        self.assertIn("there is no pure virtual function in rl/loss/test.h", fault)

    def test_a_guide_counts_the_files_outside_those_of_its_example(self):
        def counting(text):
            return _GUIDE.replace("<!-- example: toy -->", f"<!-- example: toy -->\n<!-- outside: {text} -->")

        listed = {"docs/a.md": "toy\n"}
        files = ("BUILD.bazel`\n", "BUILD.bazel`, `docs/a.md`\n")
        self.assertEqual(self.messages(counting("1, generated: docs/a.md").replace(*files), **listed), [])
        self.assertIn("it says 1 files outside, but 2 are: docs/a.md, rl/loss/BUILD.bazel",
                      self.messages(counting("1, generated: rl/loss/toy.h").replace(*files), **listed))
        self.assertEqual(self.messages(counting("1, generated: docs/a.md")), ["no step lists the generated docs/a.md"])

    def test_the_map_links_every_guide(self):
        guide = _GUIDE.replace("- `benchmarks/loss.cc`", "- `ARCHITECTURE.md`, `benchmarks/loss.cc`")
        self.assertEqual(self.messages(guide, **{"ARCHITECTURE.md": "[a toy](docs/guides/add_a_toy.md)"}), [])
        (fault,) = self.messages(guide, **{"ARCHITECTURE.md": "Toys."})
        self.assertIn("it does not link docs/guides/add_a_toy.md", fault)


class PackageRulesTest(unittest.TestCase):

    def tree(self, **includes):
        """Returns a tree with a header and a target per package; a="b": rl/a includes rl/b, b="": it includes nothing."""
        texts = {}
        for package, other in includes.items():
            texts[f"rl/{package}/{package}.h"] = include(f"rl/{other}/{other}.h") if other else ""
            texts[f"rl/{package}/BUILD.bazel"] = f'cc_library(name = "{package}", hdrs = ["{package}.h"])\n'
        return texts

    def faults(self, texts):
        return [fault for fault in rules.faults_of_tree(texts) if fault.rule.startswith("package-")]

    def test_packages_do_not_include_each_other_in_a_cycle(self):
        self.assertEqual(self.faults(self.tree(a="b", b="c", c="", d="a")), [])
        (fault,) = self.faults(self.tree(a="b", b="c", c="a", d="a"))
        self.assertEqual((fault.rule, fault.path, fault.line), ("package-cycle", "rl/a/a.h", 1))
        self.assertIn("rl/a -> rl/b -> rl/c -> rl/a", str(fault))

    def test_testonly_targets_do_not_count_for_cycles(self):
        texts = self.tree(a="b", b="a")
        texts["rl/b/BUILD.bazel"] = 'cc_library(name = "b", testonly = True, hdrs = ["b.h"])\n'
        self.assertEqual(self.faults(texts), [])

    def test_the_tables_of_packages_must_be_up_to_date(self):
        texts = {path: "# A package.\n" + text if path.endswith("BUILD.bazel") else text
                 for path, text in self.tree(a="b", b="").items()}
        texts["ARCHITECTURE.md"] = package_map.written("Packages\n<!-- packages: begin -->\n<!-- packages: end -->\n", texts)
        self.assertIn("| `rl/a` | A package. | b |", texts["ARCHITECTURE.md"])
        self.assertEqual(self.faults(texts), [])
        texts["rl/b/BUILD.bazel"] = texts["rl/b/BUILD.bazel"].replace("A package.", "Another.")
        self.assertEqual([fault.rule for fault in self.faults(texts)], ["package-map"])
        texts["rl/b/BUILD.bazel"] = texts["rl/b/BUILD.bazel"].replace("# Another.\n", "")
        self.assertEqual([fault.rule for fault in self.faults(texts)], ["package-purpose"])

    def test_the_picture_of_layers_is_drawn_from_the_dependencies_of_product_targets(self):
        dependencies = {"kernels": ["//core:io"], "models": ["//kernels/rows"], "data": ["//core:io"],
                        "rl": ["//models", "//data"], "pipelines": ["//rl/run:run", "//core:io"]}
        texts = {f"{layer}/BUILD.bazel": f'# A package.\ncc_library(name = "{layer}", deps = {labels})\n'
                 for layer, labels in dependencies.items()}
        texts["ARCHITECTURE.md"] = package_map.written("", texts)
        words = " ".join(line.split()[0] for line in package_map.picture(texts).splitlines())
        self.assertEqual(words, "``` pipelines | rl | models | kernels data | core ```")
        self.assertEqual(self.faults(texts), [])
        texts["data/BUILD.bazel"] += 'cc_test(name = "data_test", deps = ["//models"])\n'
        self.assertEqual(self.faults(texts), [])
        texts["data/BUILD.bazel"] += 'reprise_library(name = "part", deps = ["//core"], test_deps = ["//models"])\n'
        self.assertEqual(self.faults(texts), [])
        texts["data/BUILD.bazel"] += 'reprise_library(name = "more", deps = ["//models"], test_deps = [])\n'
        self.assertEqual([fault.rule for fault in self.faults(texts)], ["package-map"])

    def test_a_room_has_at_most_45_sources(self):
        def package(size):
            names = [f"f{i}.h" for i in range(size)]
            build = 'cc_library(name = "a", hdrs = [' + ", ".join(f'"{name}"' for name in names) + "])\n"
            return {"rl/a/BUILD.bazel": build, **{f"rl/a/{name}": "" for name in names}}

        self.assertEqual(self.faults(package(45)), [])
        self.assertEqual([fault.rule for fault in self.faults(package(46))], ["package-size"])


class ExceptionsTest(unittest.TestCase):

    def test_an_exception_allows_one_fault_in_one_file_and_must_be_needed(self):
        faults = rules.faults_of_source(SourceFile("core/a/a.cc", "#include <random>\n#include <chrono>\n"))
        left, unused = rules.without_exceptions(faults, {("random", "core/a/a.cc"): "why", ("libm", "rl/b.cc"): "why"})
        self.assertEqual([fault.rule for fault in left], ["clock"])
        self.assertEqual(unused, [("libm", "rl/b.cc")])


if __name__ == "__main__":
    unittest.main()
