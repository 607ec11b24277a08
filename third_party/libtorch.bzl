"""Finds LibTorch: $LIBTORCH_ROOT, then .deps/venv in the workspace, then the torch of `python3`."""

_VERSION = "2.13"

_HELP = """
LibTorch {version} was not found. Looked at:
{places}
Run  ./reprise setup  once: it unpacks the torch {version} wheel into .deps/venv. Or set LIBTORCH_ROOT to a folder that
holds include/torch and lib/libtorch_cpu.so."""

# find_spec locates the package without importing it, which would take seconds.
_FIND_TORCH = "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"

def _candidates(ctx):
    """Returns [(source, folder)] in order of preference. An explicit LIBTORCH_ROOT admits no other."""
    root = ctx.os.environ.get("LIBTORCH_ROOT", "")
    if root:
        return [("LIBTORCH_ROOT", root)]

    found = []
    venv = ctx.path(Label("//:WORKSPACE")).dirname.get_child(".deps").get_child("venv").get_child("lib")
    if venv.exists:
        found += [(".deps/venv", "{}/site-packages/torch".format(python)) for python in venv.readdir()]

    python3 = ctx.which("python3")
    if python3:
        query = ctx.execute([python3, "-c", _FIND_TORCH])
        if query.return_code == 0 and query.stdout.strip():
            found.append(("python3", query.stdout.strip()))
    return found

def _is_libtorch(ctx, root):
    return ctx.path(root + "/lib/libtorch_cpu.so").exists and ctx.path(root + "/include/torch").exists

def _libtorch_impl(ctx):
    candidates = _candidates(ctx)
    usable = [root for _, root in candidates if _is_libtorch(ctx, root)]
    if not usable:
        places = ["  {}: {}".format(source, root) for source, root in candidates]
        fail(_HELP.format(version = _VERSION, places = "\n".join(places or ["  LIBTORCH_ROOT is unset; .deps/venv and python3 have no torch"])))

    root = usable[0]
    version_file = ctx.path(root + "/version.py")
    if version_file.exists and "'{}.".format(_VERSION) not in ctx.read(version_file):
        fail("\n{} is not version {}. Run  ./reprise setup  or set LIBTORCH_ROOT.".format(root, _VERSION))

    ctx.symlink(root + "/include", "include")
    ctx.template("BUILD.bazel", ctx.attr._build_file, {"%{root}": root}, executable = False)

libtorch_repository = repository_rule(
    implementation = _libtorch_impl,
    attrs = {"_build_file": attr.label(default = "//third_party:libtorch.BUILD", allow_single_file = True)},
    environ = ["LIBTORCH_ROOT", "PATH"],
    local = True,
)
