"""Applies all rules to one source file or to the whole tree."""

import build_files
import code_rules
import comment_rules
import document_rules
import guide_rules
import include_rules
import repository
import package_map
import package_rules
import size_rules
from source_file import BELOW

_CPP_RULES = (
    include_rules.layers,
    include_rules.beside,
    include_rules.walls,
    include_rules.costly_headers,
    include_rules.algorithm,
    code_rules.banned_calls,
    code_rules.float_reductions,
    code_rules.throws,
    code_rules.unfinished,
    size_rules.parameters,
)
_ALL_RULES = (size_rules.file_length, size_rules.function_length)


def faults_of_source(source, test_only_paths=frozenset()):
    faults = [fault for rule in _ALL_RULES for fault in rule(source)]
    if source.is_cpp:
        faults += [fault for rule in _CPP_RULES for fault in rule(source)]
        faults += include_rules.test_headers(source, test_only_paths)
    return faults


def faults_of_tree(texts):
    """Returns every fault in the tree {path: text}."""
    sources = repository.sources(texts)
    test_only_paths = {source.path for source in sources if source.test_only}
    faults = [fault for source in sources for fault in faults_of_source(source, test_only_paths)]
    faults += comment_rules.names(sources)
    faults += code_rules.purposes([source for source in sources if source.is_cpp and source.layer in BELOW])
    faults += [*package_rules.package_sizes(sources), *package_rules.circles(sources), *package_map.faults(texts)]
    builds = repository.builds(texts)
    for path, text in sorted(builds.items()):
        faults += build_files.visibility(path, text)
    layered = [source.path for source in sources if source.is_cpp and source.layer in BELOW]
    faults += build_files.orphans(layered, builds)
    faults += [*document_rules.documents(texts, builds), *document_rules.links(texts), *document_rules.index(texts)]
    faults += document_rules.tables(texts)
    return faults + list(guide_rules.guides(texts, builds))


def without_exceptions(faults, exceptions):
    """Returns (faults without an exception, exceptions without a fault)."""
    left = [fault for fault in faults if (fault.rule, fault.path) not in exceptions]
    used = {(fault.rule, fault.path) for fault in faults}
    return left, sorted(set(exceptions) - used)
