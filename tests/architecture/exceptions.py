"""Files that break a rule on purpose. An entry that is no longer needed makes architecture_test fail."""

# (rule, path): reason
EXCEPTIONS = {
    ("float-reduction", "core/comm/mpi/mpi_sum.cc"): "run.reduction = \"fast\", which does not guarantee any bits",
    ("random", "core/io/atomic_file.cc"): "names of temporary files: no number of a run depends on them",
    **{("parameters", f"kernels/{path}"): "a kernel: operands with their strides" for path in (
        "attention/attention.h", "experts/experts.h", "experts/token_rows.h", "lm_head/lm_head.h",
        "products/products.h", "products/substitute.h", "router/router.h", "rows/rms_norm.h", "rows/silu_gate.h")},
    ("parameters", "models/decoder/team_kernels.h"): "kernels that a team shares, with the kernels' parameters",
    ("clock", "core/process/child_process.cc"): "time limit of another program: it may end a run, but changes no bit",
}
