"""Whatever packs a file, and however deep: what every tool sees of a member is what it sees of the file alone."""

import gzip
import io
import json
import tarfile
import zipfile
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from blobs import Blobs, Conversation

SETTINGS = settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # an example takes a second: to make one smaller takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8)
STEMS = st.from_regex(r"\A[a-zæøå日本][a-zæøå日本 _-]{0,9}\Z")
FOLDERS = st.sampled_from(["", "data/", "a folder/of more/"])
NUMBERS = st.integers(-(10**18), 10**18)
PLAIN = st.characters(codec="utf-8", categories=["L", "N"])

TABLES = st.lists(st.tuples(NUMBERS, st.text(PLAIN, min_size=1, max_size=9)), min_size=1, max_size=9).map(
    lambda rows: (".csv", "id,word\n" + "".join(f"{number},w{word}\n" for number, word in rows))
)
RECORDS = st.lists(st.fixed_dictionaries({"id": NUMBERS, "word": WORDS}), min_size=1, max_size=9)
LINES = RECORDS.map(lambda each: (".ndjson", "".join(json.dumps(record) + "\n" for record in each)))
DOCUMENTS = RECORDS.map(lambda each: (".json", json.dumps(each, ensure_ascii=False)))
TEXTS = st.lists(st.text(PLAIN, max_size=30).map(lambda line: f"text {line}"), min_size=1, max_size=9).map(
    lambda lines: (".txt", "".join(f"{line}\n" for line in lines))
)
FILES = st.dictionaries(
    st.tuples(FOLDERS, STEMS).map("".join), st.one_of(TABLES, LINES, DOCUMENTS, TEXTS), min_size=1, max_size=3
).map(lambda found: {name + suffix: content.encode() for name, (suffix, content) in found.items()})


def zipped(files: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return sink.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return sink.getvalue()


PACKINGS = {
    "zip": (zipped, ""),
    "tar": (tarred, ""),
    "tar.gz": (lambda files: gzip.compress(tarred(files)), ""),
    "zip in tar": (lambda files: tarred({"in/ner.zip": zipped(files)}), "in/ner.zip/"),
    "tar.gz in zip": (lambda files: zipped({"inner.tgz": gzip.compress(tarred(files))}), "inner.tgz/"),
    "gzip in zip": (lambda files: zipped({f"{name}.gz": gzip.compress(each) for name, each in files.items()}), ".gz"),
}


def answer(chat: Conversation, tool: str, **arguments: Any) -> dict[str, Any]:
    """The data of an answer, without what names the blob."""
    given = chat.call(tool, arguments)
    assert given["ok"], given
    return {key: value for key, value in given["data"].items() if key not in ("blob", "printed", "next")}


@SETTINGS
@given(files=FILES, packing=st.sampled_from(sorted(PACKINGS)))
def test_a_member_is_what_the_file_is(service: Blobs, files: dict[str, bytes], packing: str) -> None:
    """Items, lines, matches, SQL, Python and bytes by part are those of the file as a blob of its own."""
    pack, place = PACKINGS[packing]
    chat = service.conversation()
    handle = chat.attach(pack(files))
    count = handle["items"]
    assert len(answer(chat, "blob_read", blob="blob1")["items"]) == count
    if not place.endswith("/"):
        assert count == len(files)
    for number, (name, content) in enumerate(files.items(), 2):
        part = name + place if place == ".gz" else place + name
        alone = chat.attach(content, name=name.rpartition("/")[2])["blob"]
        assert alone == f"blob{number}" or content in list(files.values())[: number - 2]
        read = answer(chat, "blob_read", blob="blob1", part=part)
        assert read == answer(chat, "blob_read", blob=alone)
        assert len(read["items"]) == read["total"]
        lines = answer(chat, "blob_read", blob="blob1", part=part, unit="lines")
        assert lines == answer(chat, "blob_read", blob=alone, unit="lines")
        found = answer(chat, "blob_search", blob="blob1", part=part, pattern="w", limit=5)
        assert found == answer(chat, "blob_search", blob=alone, pattern="w", limit=5)
        sql = f'select * from "blob1.{part}"'
        rows = answer(chat, "blob_code", blob="blob1", language="sql", code=sql)
        assert rows == answer(chat, "blob_code", blob=alone, language="sql", code=f"select * from {alone}")
        code = f"[X.rows(P), X.text(P), X.lines(P), {'X.bytes(P).decode()' if place != '.gz' else '0'}, len(X.df(P))]"
        code = f"P = {part!r}\n" + code.replace("X", "blob1")
        plain = code.replace(repr(part), "None").replace("blob1", alone)
        python = answer(chat, "blob_code", blob="blob1", language="python", code=code)
        assert python == answer(chat, "blob_code", blob=alone, language="python", code=plain)
