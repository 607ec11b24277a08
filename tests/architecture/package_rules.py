"""Rules for rooms, which are folders with sources: a limit on their size, and no cycles of includes in the product."""

import collections
import posixpath

from source_file import BELOW, Fault

MOST_SOURCES = 45


def package_sizes(sources):
    """A room has at most MOST_SOURCES C++ files, so that a reader can find a file quickly."""
    sizes = collections.Counter(posixpath.dirname(source.path) for source in sources if source.is_cpp)
    for room, size in sorted(sizes.items()):
        if size > MOST_SOURCES:
            yield Fault(room, 1, "room-size", f"{size} C++ files, more than {MOST_SOURCES}: move some to a new folder")


def includes_between_packages(sources):
    """Returns {room: {included room: (path, line, header) of one such include}}, without test-only sources."""
    paths = {source.path for source in sources}
    rooms = collections.defaultdict(dict)
    for source in sources:
        if not source.is_cpp or source.test_only or source.layer not in BELOW:
            continue
        room = posixpath.dirname(source.path)
        for line, header in source.includes:
            other = posixpath.dirname(header)
            if header in paths and other != room:
                rooms[room].setdefault(other, (source.path, line, header))
    return rooms


def _circle(rooms, start):
    """Returns the shortest cycle in `rooms` through `start`, as a list beginning with `start`; None without one."""
    came_from = {}
    queue = collections.deque([start])
    while queue:
        room = queue.popleft()
        for other in sorted(rooms.get(room, ())):
            if other == start:
                way = [room]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if other not in came_from:
                came_from[other] = room
                queue.append(other)
    return None


def circles(sources):
    """No room may include another room that includes it, directly or through others."""
    rooms = includes_between_packages(sources)
    found = set()
    for room in sorted(rooms):
        way = _circle(rooms, room)
        if way is None or frozenset(way) in found:
            continue
        found.add(frozenset(way))
        path, line, header = rooms[way[0]][way[1 % len(way)]]
        yield Fault(path, line, "room-circle", f"{' -> '.join([*way, way[0]])} is a cycle: this file includes {header}")
