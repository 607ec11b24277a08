"""Who may include whom: layers, and the libraries that stay behind one wall."""

import re

from source_file import BELOW, BESIDE, Fault

# rule: (headers, the only places that may include them, where the others should look)
WALLS = {
    "mpi-wall": (r"mpi\.h$", r"core/comm/", "ranks meet through core/comm"),
    "hdf5-wall": (r"hdf5(_hl)?\.h$|H5\w*public\.h$", r"data/artifact/", "arrays are stored through data/artifact"),
    "torch-wall": (r"(ATen|torch|c10|caffe2)/", r"(models|tests|benchmarks)/", "tensors cross layers as core/tensor"),
    "highway-wall": (r"hwy/", r"(kernels|benchmarks)/", "vector code belongs into kernels/"),
    "spdlog-wall": (r"spdlog/", r"core/log/\w+\.cc$", "core/log logs; LibTorch brings another fmt"),
}


def layers(source):
    """An include goes to the file's own layer or to one below; models and data never see each other."""
    if source.layer not in BELOW:
        return
    allowed = (source.layer, *BELOW[source.layer])
    for line, header in source.includes:
        other = header.split("/")[0]
        if "/" in header and other in (*BELOW, *BESIDE) and other not in allowed:
            yield Fault(source.path, line, "layers", f"{source.layer}/ may not include {header}")


def beside(source):
    """Nothing uses what stands beside the layers, except its own folder."""
    if source.layer in BELOW:  # said by `layers`
        return
    for line, header in source.includes:
        other = header.split("/")[0]
        if "/" in header and other in BESIDE and other != source.layer:
            yield Fault(source.path, line, "beside", f"nothing outside {other}/ may include {header}")


def walls(source):
    for rule, (headers, places, remedy) in WALLS.items():
        for line, header in source.includes:
            if re.match(headers, header) and not re.match(places, source.path):
                yield Fault(source.path, line, rule, f"{header} is not for this place: {remedy}")


def test_headers(source, test_only_paths):
    """What only tests build, only tests may include."""
    if source.test_only:
        return
    for line, header in source.includes:
        if header in test_only_paths:
            yield Fault(source.path, line, "test-headers", f"{header} belongs to a testonly target, this file does not")
