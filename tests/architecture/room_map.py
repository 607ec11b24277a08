"""Writes the tables of rooms in ARCHITECTURE.md from the BUILD files and the includes.

    python3 tests/architecture/room_map.py --write
"""

import pathlib
import posixpath
import re
import sys

import repository
import room_rules
from source_file import BELOW, Fault

PAGE = "ARCHITECTURE.md"
_BEGIN, _END = "<!-- rooms: begin -->\n", "<!-- rooms: end -->\n"


def purpose(build_text):
    """Returns the first comment of a room's BUILD file, which describes the room; None if there is none."""
    comment = re.match(r"((?:# [^\n]*\n)+)", build_text)
    return " ".join(line[2:] for line in comment[1].splitlines()) if comment else None


def _rooms(texts):
    return {
        posixpath.dirname(path): purpose(text)
        for path, text in sorted(repository.builds(texts).items())
        if path.split("/")[0] in BELOW and "/" in path and "name = " in text
    }


def _height(room, includes, known):
    if room not in known:
        layer = room.split("/")[0]
        below = [other for other in includes.get(room, ()) if other.split("/")[0] == layer]
        known[room] = 1 + max((_height(other, includes, known) for other in below), default=0)
    return known[room]


def text(texts):
    """Returns a table for each layer, the highest first; each room is listed above the rooms that it includes."""
    includes = room_rules.includes_between_rooms(repository.sources(texts))
    rooms, heights, lines = _rooms(texts), {}, []
    for layer in reversed(BELOW):
        own = [room for room in rooms if room.split("/")[0] == layer]
        lines += [f"\n### {layer}/", "", "| room | contents | uses in its layer |", "|---|---|---|"]
        for room in sorted(own, key=lambda room: (-_height(room, includes, heights), room)):
            uses = [other[len(layer) + 1 :] for other in sorted(includes.get(room, ())) if other in own]
            lines.append(f"| `{room}` | {rooms[room]} | {', '.join(uses)} |")
    return "\n".join(lines).lstrip("\n") + "\n"


def faults(texts):
    """Every room's BUILD file must describe the room, and the tables must be up to date."""
    if PAGE not in texts:
        return
    for room, sentence in _rooms(texts).items():
        if sentence is None:
            yield Fault(f"{room}/BUILD.bazel", 1, "room-purpose", "it must begin with a comment on the room's contents")
            return
    if texts[PAGE].partition(_BEGIN)[2].partition(_END)[0] != text(texts):
        yield Fault(PAGE, 1, "room-map", "out of date: run python3 tests/architecture/room_map.py --write")


def main():
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    root = repository.root()
    path = pathlib.Path(root, PAGE)
    before, _, rest = path.read_text().partition(_BEGIN)
    path.write_text(before + _BEGIN + text(repository.read(root)) + _END + rest.partition(_END)[2])


if __name__ == "__main__":
    main()
