"""A repository rule for a library that the system's package manager, or a cluster module, installed."""

def _find(ctx, directories, relative):
    for directory in directories:
        if ctx.path(directory + "/" + relative).exists:
            return directory
    return None

def _system_library_impl(ctx):
    root = ctx.os.environ.get(ctx.attr.root_env, "") if ctx.attr.root_env else ""
    if root:
        include_dirs, lib_dirs = [root + "/include"], [root + "/lib", root + "/lib64"]
    else:
        include_dirs, lib_dirs = ctx.attr.include_dirs + ["/usr/include"], ctx.attr.lib_dirs

    include_dir = _find(ctx, include_dirs, ctx.attr.header)
    if not include_dir:
        fail("\n".join([
            "",
            "@{} needs <{}>, which is in none of:".format(ctx.name, ctx.attr.header),
        ] + ["  " + directory for directory in include_dirs] + [
            "Install it with:  ./reprise setup    (or: apt-get install {})".format(ctx.attr.apt),
        ] + (["or point {} at an installation.".format(ctx.attr.root_env)] if ctx.attr.root_env else [])))

    # Headers in /usr/include are already on the compiler's path; others get a link that `includes` can name.
    if include_dir == "/usr/include":
        ctx.file("include/.empty")
    else:
        ctx.symlink(include_dir, "include")

    flags = []
    for directory in lib_dirs:
        if ctx.path(directory).exists:
            # Debian's libraries are on the loader's path; a cluster module's are not.
            flags += ["-L" + directory] + (["-Wl,-rpath," + directory] if root else [])
    ctx.template("BUILD.bazel", ctx.attr.build_file, {"%{link_dirs}": repr(flags)}, executable = False)

_system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "apt": attr.string(mandatory = True, doc = "Debian packages to name when the library is missing"),
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "header": attr.string(mandatory = True, doc = "a header whose presence proves the installation"),
        "include_dirs": attr.string_list(),
        "lib_dirs": attr.string_list(),
        "root_env": attr.string(doc = "environment variable that overrides the system's copy"),
    },
    environ = [
        "ABSEIL_ROOT", "BENCHMARK_ROOT", "CLI11_ROOT", "GOOGLETEST_ROOT", "HDF5_ROOT", "HIGHWAY_ROOT", "MPI_ROOT",
        "NLOHMANN_JSON_ROOT", "ONIGURUMA_ROOT", "OPENSSL_ROOT", "RANDOM123_ROOT", "RAPIDCHECK_ROOT", "SIMDJSON_ROOT",
        "SPDLOG_ROOT", "SQLITE_ROOT", "TOMLPLUSPLUS_ROOT", "UTF8PROC_ROOT",
    ],
    local = True,
)

def system_library(name, **kwargs):
    _system_library(name = name, **kwargs)
