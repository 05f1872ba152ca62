"""Damaged files of every kind, opened as the product opens them: something always opens, and says what it is."""

from itertools import islice

from blobs.domain import exact_json
from blobs.domain.ranges import ItemRange
from blobs.operations.profiling import profile
from blobs.reading.opening import openings
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from blobs.testing.mutations import mutations, run_apart
from tests.material import fixture, manifest

MUTATIONS = 600
ITEMS_MAX = 50


def damaged_fixtures():
    each = -(-MUTATIONS // len(manifest()))
    for file in sorted(manifest()):
        for how, content in mutations(fixture(file), each):
            yield f"{file}: {how}", content


def test_damaged_files_fall_back_honestly():
    """Whatever is damaged opens with some reader; its preview is bounded, its count is that of the items it gives."""
    registry = Registry()
    registry.plug_ins()

    def check(content: bytes) -> None:
        source = BytesSource(content)
        for opened in openings(registry, source, None):
            try:
                told = profile(opened, source, seed=b"0", preview_bytes_max=2048)
            except Exception:
                if opened.plug_in.name in ("text", "binary"):
                    raise
                continue
            assert len(exact_json.dumps(told.preview)) <= 2048
            count = opened.view.count or 0
            if opened.view.unit is not None and count <= ITEMS_MAX:
                assert sum(1 for _ in opened.view.items(ItemRange(0, count))) == count
            list(islice(opened.view.items(ItemRange(0, count)), ITEMS_MAX))
            return
        raise AssertionError("nothing opens it")

    failures = run_apart(damaged_fixtures(), check)
    assert not failures, "\n".join(failures[:5])
