"""What the demo works on: real large answers of this machine, and two files made of them."""

import csv
import io
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from blobs.domain import exact_json

LISTED_MAX = 20_000
"""Files in the listing: a system-wide Python lies among hundreds of thousands."""
LOG_BYTES_MIN, LOG_BYTES_MAX = 32 * 1024 + 1, 2 * 1024 * 1024
PACKAGES_PER_PAGE, LARGEST_FILES = 7, 6

_RESERVED, _ESCAPED = re.compile(r"([()\\])"), r"\\\1"
_LINE_ENDS = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool of the machine answers: `value` as the runtime gets it, `whole` as a model would have read it."""

    tool: str
    about: str
    value: Any
    whole: str


@dataclass(frozen=True, slots=True)
class Material:
    """The five results, and the plain Python values that they were made from."""

    packages: list[dict[str, Any]]
    listing: list[tuple[str, int]]
    log_name: str
    log: str
    files: list[tuple[str, str, int | None]]
    pages: list[list[str]]
    results: list[Result]

    @property
    def log_lines(self) -> list[str]:
        """The log's lines, by a plain split."""
        lines = _LINE_ENDS.split(self.log)
        return lines if lines[-1] else lines[:-1]


def gather() -> Material:
    """Look at the machine; takes a second or two and changes nothing."""
    packages, files = _packages()
    listing, is_cut = _listing(Path(sys.prefix))
    log_name, log = _log()
    pages = _pages(packages, files)
    whole_listing = _csv(listing)
    cut = f", the first {LISTED_MAX:,}" if is_cut else ""
    results = [
        Result("list_packages", "metadata of the installed packages, JSON", packages, exact_json.text(packages)),
        Result("list_files", f"files under the Python prefix{cut}, CSV", whole_listing, whole_listing),
        Result("read_file", f"{log_name}, text", log, log),
        Result("export_files", "the packages' files, Parquet", _parquet(files), exact_json.text(files)),
        Result("report", "an inventory, PDF", _pdf(pages), "\f".join("\n".join(page) for page in pages)),
    ]
    return Material(packages, listing, log_name, log, files, pages, results)


def _packages() -> tuple[list[dict[str, Any]], list[tuple[str, str, int | None]]]:
    """Metadata of every distribution, by name, and the files that each has recorded."""
    found: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(name, distribution)  # the first one on the path is the one that is imported
    packages, files = [], []
    for name in sorted(found):
        packages.append(dict(found[name].metadata.json))
        files += [(name, str(each), each.size) for each in found[name].files or []]
    return packages, files


def _listing(prefix: Path) -> tuple[list[tuple[str, int]], bool]:
    """Path below the prefix and size of its files, in order; and whether there are more than are listed."""
    listing: list[tuple[str, int]] = []
    for path in _walk(prefix):
        if len(listing) == LISTED_MAX:
            return listing, True
        try:
            listing.append((str(path.relative_to(prefix)), path.lstat().st_size))
        except OSError:
            continue  # gone since
    return listing, False


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.isprintable() and root.isprintable():
                yield Path(root, name)


def _csv(listing: list[tuple[str, int]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["path", "bytes"])
    writer.writerows(listing)
    return text.getvalue()


def _log() -> tuple[str, str]:
    """The largest readable log of this machine, else the largest module of the standard library."""
    logs = _sized(Path("/var/log").glob("*.log"))
    modules = _sized(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    for path in [*logs, *modules]:
        text = _text(path)
        if text is not None:
            return str(path), text
    lines = [f"{number} {number * number}" for number in range(10_000)]
    return "squares", "\n".join(lines)


def _sized(paths: Iterator[Path]) -> list[Path]:
    sized = []
    for path in paths:
        try:
            size = path.stat().st_size
        except OSError:
            continue
        if LOG_BYTES_MIN <= size <= LOG_BYTES_MAX:
            sized.append((-size, str(path)))
    return [Path(name) for _, name in sorted(sized)]


def _text(path: Path) -> str | None:
    """The file as text if it is plain UTF-8, so that splitting it by hand is a fair check."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if "\x1b" not in text and "\0" not in text and not text.startswith("\ufeff") else None


def _parquet(files: list[tuple[str, str, int | None]]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table(
        {
            "package": pa.array([each[0] for each in files], pa.string()),
            "path": pa.array([each[1] for each in files], pa.string()),
            "bytes": pa.array([each[2] for each in files], pa.int64()),
        }
    )
    content = io.BytesIO()
    parquet.write_table(table, content)
    return content.getvalue()


def _pages(packages: list[dict[str, Any]], files: list[tuple[str, str, int | None]]) -> list[list[str]]:
    """The lines of the report, page by page: each package with its largest files."""
    sized: dict[str, list[tuple[int, str]]] = {}
    for name, path, size in files:
        sized.setdefault(name, []).append((-(size or 0), path))
    entries = []
    for each in packages:
        own = sorted(sized.get(each["name"], []))
        head = f"{each['name']} {each.get('version', '?')}: {len(own)} files, {-sum(size for size, _ in own)} bytes"
        entries.append([head, *(f"{-size} bytes in {path}" for size, path in own[:LARGEST_FILES])])
    pages = []
    for start in range(0, len(entries), PACKAGES_PER_PAGE):
        lines = [line for entry in entries[start : start + PACKAGES_PER_PAGE] for line in entry]
        pages.append([line for line in lines if line.isascii()])
    return [[f"Inventory, page {number} of {len(pages)}", *lines] for number, lines in enumerate(pages, start=1)]


def _pdf(pages: list[list[str]]) -> bytes:
    """A PDF 1.4 of these lines of ASCII, in one of the fonts that every viewer has."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, lines in enumerate(pages):
        drawn = " T* ".join(f"({_RESERVED.sub(_ESCAPED, line)}) Tj" for line in lines)
        stream = f"BT /F1 10 Tf 14 TL 56 786 Td {drawn} ET".encode()
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * i} 0 R"
        bodies.append(f"{page} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        bodies.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    content, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(bodies, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer << /Size {len(bodies) + 1} /Root 1 0 R >>\nstartxref\n{len(content)}\n%%EOF\n"
    return bytes(content) + f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()
