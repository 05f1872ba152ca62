"""What zip and tar archives have in common: a listing of members as rows, and each file in it as a part."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from blobs.domain.errors import ToolInputError
from blobs.domain.ranges import ItemRange
from blobs.reading.base_view import BaseView
from blobs.reading.inside import RATIO_FREE_BYTES, RATIO_MAX, InsideReader
from blobs.reading.reader import Part, View
from blobs.reading.source import Source

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"
PARTS_MAX = 100
"""So many are named in a profile; every file is read by its name all the same."""

_SHOWN_MAX = 3
_COMPARED_MAX = 2000
_SUGGESTED_MAX = 5
_NAME_CHARS_MAX = 120


@dataclass(frozen=True, slots=True)
class Member:
    """A member as it is listed. `name` is as stored, `modified` ISO 8601 or None, `packed` None where all is stored."""

    name: str
    size: int
    kind: str
    modified: str | None
    packed: int | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a member, and what is wrong with them."""

    source: Source
    notes: tuple[str, ...] = ()


def is_unsafe(name: str) -> bool:
    """Whether a name leads out of the folder that the archive would be unpacked to."""
    return name[:1] in ("/", "\\") or name[1:2] == ":" or ".." in name.replace("\\", "/").split("/")


class ArchiveView(BaseView):
    """The members of an archive. A subclass gives `member` and `content`, then calls `_survey`."""

    unit = "members"

    def __init__(self, reader: InsideReader, source: Source) -> None:
        super().__init__()
        self._reader = reader
        self._source = source
        self._kinds: Counter[str] = Counter()
        self._size_bytes = 0

    @abstractmethod
    def member(self, place: int) -> Member:
        """The member at a place of the listing."""
        raise NotImplementedError

    @abstractmethod
    def content(self, place: int) -> Content:
        """The bytes of a file; raises `UnreadableError` where they cannot be had."""
        raise NotImplementedError

    def is_readable(self, place: int) -> bool:
        """Whether the bytes of a file can be had at all."""
        del place
        return True

    def link_target(self, place: int) -> str:
        """What a link points to."""
        del place
        return ""

    def items(self, span: ItemRange) -> Iterator[list[Any]]:
        """The members of the range as rows."""
        for place in range(span.start, min(span.stop, self.count or 0)):
            member = self.member(place)
            yield [member.name, member.size, member.modified, member.kind]

    def facts(self) -> dict[str, Any]:
        """How many members there are of each kind, and their sizes added up."""
        kinds = {f"{kind}s": self._kinds[kind] for kind in (FILE, FOLDER, LINK, OTHER) if self._kinds[kind]}
        return {**kinds, "bytes_inside": self._size_bytes}

    def part(self, name: str) -> View:
        """A file as what it is; a part of that, such as a file in an archive, by both names with a slash between."""
        place = self._places.get(name)
        if place is None:
            return self._part_inside(name)
        content = self.content(place)
        opened = self._reader.open_inside(content.source, name=self.member(place).name)
        opened.view.notes[:0] = content.notes
        return opened.view

    def _part_inside(self, name: str) -> View:
        cut = name.find("/")
        while cut > 0:
            outer = self.part(name[:cut]) if name[:cut] in self._places else None
            if outer is not None and outer.parts:
                return outer.part(name[cut + 1 :])
            cut = name.find("/", cut + 1)
        raise self._refusal(name)

    def _refusal(self, name: str) -> ToolInputError:
        """Why there is no such part: a folder, a link, or nothing of that name; with names that work."""
        shown = name[:_NAME_CHARS_MAX]
        for place in range(self.count or 0):
            member = self.member(place)
            if member.kind != FILE and member.name.rstrip("/") == name.rstrip("/"):
                what = "is a folder" if member.kind == FOLDER else "holds no bytes"
                if member.kind == LINK:
                    what = f"is a link to {self.link_target(place)[:_NAME_CHARS_MAX]!r}"
                return ToolInputError(f"part: {shown!r} {what}.", hint=self._suggestion(name))
        return ToolInputError(f"part: there is no part {shown!r}.", hint=self._suggestion(name))

    def _suggestion(self, name: str) -> str:
        names = list(self._places)
        if not names:
            return "Leave part out: the archive holds no files."
        likely = get_close_matches(name, names[:_COMPARED_MAX], n=_SUGGESTED_MAX, cutoff=0.5) or names[:_SUGGESTED_MAX]
        return f"Use one of {', '.join(repr(each) for each in likely)}."

    def _survey(self) -> None:
        """One walk over all members: what the facts, the parts and the notes say."""
        unsafe: list[str] = []
        unsafe_count = 0
        for place in range(self.count or 0):
            member = self.member(place)
            self._kinds[member.kind] += 1
            self._size_bytes += member.size
            if is_unsafe(member.name):
                unsafe_count += 1
                if len(unsafe) < _SHOWN_MAX:
                    unsafe.append(repr(member.name[:_NAME_CHARS_MAX]))
        self._name_parts()
        if unsafe_count:
            noun = "name leads" if unsafe_count == 1 else "names lead"
            self.notes.append(f"{unsafe_count} {noun} out of the folder it is unpacked to: {', '.join(unsafe)}")
        if self._size_bytes > RATIO_FREE_BYTES and self._size_bytes > RATIO_MAX * max(1, self._source.size):
            ratio = self._size_bytes // max(1, self._source.size)
            self.notes.append(f"may be a decompression bomb: its members claim {ratio} times the size of the archive")

    def _name_parts(self) -> None:
        """Name the first files as parts, and say how those of the same name are told apart."""
        renamed = 0
        for name, place in self._places.items():
            renamed += name != self.member(place).name
            if len(self.parts) < PARTS_MAX and self.is_readable(place):
                self.parts.append(Part(name, "bytes", None))
        if renamed:
            noun = "file has" if renamed == 1 else "files have"
            self.notes.append(f'{renamed} {noun} the name of an earlier one: read the second as part "NAME (2)"')

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where each file is, by its part's name: its own, for later files of the same name with a number after it."""
        places: dict[str, int] = {}
        repeated: list[int] = []
        for place in range(self.count or 0):
            member = self.member(place)
            if member.kind != FILE:
                continue
            if member.name in places:
                repeated.append(place)
            else:
                places[member.name] = place
        numbers: Counter[str] = Counter()
        for place in repeated:
            name = self.member(place).name
            numbers[name] += 1
            while (numbered := f"{name} ({numbers[name] + 1})") in places:
                numbers[name] += 1
            places[numbered] = place
        return places
