"""Which files may include which headers: rules for layers, and for libraries that only some folders may use."""

import re

from source_file import BELOW, BESIDE, Fault

# rule: (headers, the only paths that may include them, remedy for other files)
WALLS = {
    "mpi-wall": (r"mpi\.h$", r"core/comm/", "use core/comm to communicate between ranks"),
    "hdf5-wall": (r"hdf5(_hl)?\.h$|H5\w*public\.h$", r"data/artifact/format/(hdf5/|\w+_test\.cc$)",
                  "use data/artifact to store arrays"),
    "sqlite-wall": (r"sqlite3(ext)?\.h$", r"data/memory/sqlite/", "use data/memory/sqlite to keep memories in a file"),
    "torch-wall": (r"(ATen|torch|c10|caffe2)/", r"(models|tests|benchmarks)/", "use core/tensor between layers"),
    "highway-wall": (r"hwy/", r"(kernels|benchmarks)/", "put vector code into kernels/"),
    "spdlog-wall": (r"spdlog/", r"core/log/\w+\.cc$", "use core/log; LibTorch contains another version of fmt"),
}

# The packages of the algorithm see decisions, whatever a workload's tasks and episodes consist of.
ALGORITHM = r"rl/(advantage|gradient|learner|loss|metrics|policy|value)/[^/]+$"
COMPLETIONS = r"(models|rl/(workloads|environments?|episodes|policy/decoder|record/completions))/"

# A header of ours would make each of its users compile these, which take longer than most sources.
_COSTLY = r"(nlohmann/json\.hpp|simdjson\.h|CLI/|toml\+\+/|g(test|mock)/)"


def layers(source):
    """A file may include its own layer and the layers below; models and data must not include each other."""
    if source.layer not in BELOW:
        return
    allowed = (source.layer, *BELOW[source.layer])
    for line, header in source.includes:
        other = header.split("/")[0]
        if "/" in header and other in (*BELOW, *BESIDE) and other not in allowed:
            yield Fault(source.path, line, "layers", f"{source.layer}/ may not include {header}")


def beside(source):
    """Only files of the same folder may include headers of tests/ and benchmarks/."""
    if source.layer in BELOW:  # reported by `layers`
        return
    for line, header in source.includes:
        other = header.split("/")[0]
        if "/" in header and other in BESIDE and other != source.layer:
            yield Fault(source.path, line, "beside", f"nothing outside {other}/ may include {header}")


def walls(source):
    for rule, (headers, places, remedy) in WALLS.items():
        for line, header in source.includes:
            if re.match(headers, header) and not re.match(places, source.path):
                yield Fault(source.path, line, rule, f"this file may not include {header}: {remedy}")


def costly_headers(source):
    """Third parties' large headers are included by sources; only headers of tests hand them on."""
    if not source.path.endswith(".h") or (source.test_only and source.layer != "benchmarks"):
        return
    for line, header in source.includes:
        if re.match(_COSTLY, header):
            yield Fault(source.path, line, "costly-header",
                        f"{header} is for sources: declare what it defines (nlohmann/json_fwd.hpp), or hide it")


def algorithm(source):
    """The product's files of the algorithm's packages must not include what completions, or their decoder, are."""
    if source.test_only or not re.match(ALGORITHM, source.path):
        return
    for line, header in source.includes:
        if re.match(COMPLETIONS, header):
            yield Fault(source.path, line, "algorithm",
                        f"{header} is of completions: read decisions, or ask the policy or the workload")


def test_headers(source, test_only_paths):
    """Only tests may include headers that belong to testonly targets only."""
    if source.test_only:
        return
    for line, header in source.includes:
        if header in test_only_paths:
            yield Fault(source.path, line, "test-headers", f"{header} belongs to a testonly target, this file does not")
