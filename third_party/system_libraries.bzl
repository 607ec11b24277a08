"""The libraries that Debian (or a cluster's modules) provides: a header that proves each, and where else to look."""

load("//third_party:system_library.bzl", "system_library")

# name: (a header whose presence proves the installation, the Debian packages)
_PLAIN = {
    "abseil": ("absl/base/config.h", "libabsl-dev"),
    "benchmark": ("benchmark/benchmark.h", "libbenchmark-dev"),
    "cli11": ("CLI/CLI.hpp", "libcli11-dev"),
    "googletest": ("gmock/gmock.h", "libgtest-dev libgmock-dev"),
    "highway": ("hwy/highway.h", "libhwy-dev"),
    "nlohmann_json": ("nlohmann/json.hpp", "nlohmann-json3-dev"),
    "oniguruma": ("oniguruma.h", "libonig-dev"),
    "openssl": ("openssl/evp.h", "libssl-dev"),
    "random123": ("Random123/philox.h", "librandom123-dev"),
    "rapidcheck": ("rapidcheck.h", "librapidcheck-dev"),
    "simdjson": ("simdjson.h", "libsimdjson-dev"),
    "spdlog": ("spdlog/spdlog.h", "libspdlog-dev"),
    "sqlite": ("sqlite3.h", "libsqlite3-dev"),
    "tomlplusplus": ("toml++/toml.h", "libtomlplusplus-dev"),
    "utf8proc": ("utf8proc.h", "libutf8proc-dev"),
}

def system_libraries():
    for name, (header, apt) in _PLAIN.items():
        system_library(
            name = name,
            apt = apt,
            build_file = "//third_party:{}.BUILD".format(name),
            header = header,
            root_env = name.upper() + "_ROOT",
        )

    system_library(
        name = "hdf5",
        apt = "libhdf5-dev",
        build_file = "//third_party:hdf5.BUILD",
        header = "hdf5.h",
        include_dirs = ["/usr/include/hdf5/serial"],
        lib_dirs = ["/usr/lib/x86_64-linux-gnu/hdf5/serial"],
        root_env = "HDF5_ROOT",
    )

    system_library(
        name = "mpi",
        apt = "libopenmpi-dev openmpi-bin",
        build_file = "//third_party:mpi.BUILD",
        header = "mpi.h",
        include_dirs = ["/usr/lib/x86_64-linux-gnu/openmpi/include"],
        lib_dirs = ["/usr/lib/x86_64-linux-gnu/openmpi/lib"],
        root_env = "MPI_ROOT",
    )
