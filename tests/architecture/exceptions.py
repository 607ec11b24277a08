"""Files that break a rule on purpose. An entry that is no longer needed makes architecture_test fail."""

# (rule, path): reason
EXCEPTIONS = {
    ("float-reduction", "core/comm/mpi/mpi_communicator.cc"): "run.reduction = \"fast\", which does not guarantee any bits",
    ("random", "core/io/atomic_file.cc"): "names of temporary files: no number of a run depends on them",
    ("clock", "core/process/child_process.cc"): "time limit of another program: it may end a run, but changes no bit",
}
