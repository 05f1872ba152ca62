"""What the name of a file declares."""

import mimetypes
from pathlib import Path

import pytest

from blobs.client.files import declared_type


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders.csv", "text/csv"),
        ("ORDERS.TSV", "text/tab-separated-values"),
        ("events.jsonl", "application/x-ndjson"),
        ("report.pdf", "application/pdf"),
        ("members.tar", "application/x-tar"),
        ("members.tar.gz", "application/gzip"),
        ("orders.csv.gz", "application/gzip"),
        ("log.txt.bz2", "application/x-bzip2"),
        ("dump.sql.xz", "application/x-xz"),
        ("old.Z", "application/octet-stream"),
        ("no suffix", "application/octet-stream"),
        (".hidden", "application/octet-stream"),
    ],
)
def test_a_name_declares_the_outermost_format(name, expected):
    """The suffix says what the bytes are; of a compressed file that is the compression."""
    assert declared_type(f"some/{name}") == declared_type(Path(name)) == expected


def test_the_machine_does_not_matter(tmp_path, monkeypatch):
    """What an administrator adds to the machine's own table changes nothing."""
    monkeypatch.setattr(mimetypes, "knownfiles", [])
    mimetypes.add_type("text/x-local", ".csv")
    try:
        assert declared_type("orders.csv") == "text/csv"
    finally:
        mimetypes.init()


def test_bytes_declare_nothing():
    """Only names have suffixes."""
    assert declared_type(b"a,b") == "application/octet-stream"
