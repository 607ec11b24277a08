"""Rules for packages, which are folders with sources: a limit on their size, and no cycles of includes in the product."""

import collections
import posixpath

from source_file import BELOW, Fault

MOST_SOURCES = 45


def package_sizes(sources):
    """A package has at most MOST_SOURCES C++ files, so that a reader can find a file quickly."""
    sizes = collections.Counter(posixpath.dirname(source.path) for source in sources if source.is_cpp)
    for package, size in sorted(sizes.items()):
        if size > MOST_SOURCES:
            yield Fault(package, 1, "package-size", f"{size} C++ files, more than {MOST_SOURCES}: move some to a new folder")


def includes_between_packages(sources):
    """Returns {package: {included package: (path, line, header) of one such include}}, without test-only sources."""
    paths = {source.path for source in sources}
    packages = collections.defaultdict(dict)
    for source in sources:
        if not source.is_cpp or source.test_only or source.layer not in BELOW:
            continue
        package = posixpath.dirname(source.path)
        for line, header in source.includes:
            other = posixpath.dirname(header)
            if header in paths and other != package:
                packages[package].setdefault(other, (source.path, line, header))
    return packages


def _circle(packages, start):
    """Returns the shortest cycle in `packages` through `start`, as a list beginning with `start`; None without one."""
    came_from = {}
    queue = collections.deque([start])
    while queue:
        package = queue.popleft()
        for other in sorted(packages.get(package, ())):
            if other == start:
                way = [package]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if other not in came_from:
                came_from[other] = package
                queue.append(other)
    return None


def circles(sources):
    """No package may include another package that includes it, directly or through others."""
    packages = includes_between_packages(sources)
    found = set()
    for package in sorted(packages):
        way = _circle(packages, package)
        if way is None or frozenset(way) in found:
            continue
        found.add(frozenset(way))
        path, line, header = packages[way[0]][way[1 % len(way)]]
        yield Fault(path, line, "package-cycle", f"{' -> '.join([*way, way[0]])} is a cycle: this file includes {header}")
