"""The publicly reported cases: what preview, read, search and SQL say of each, and of a made sibling, is right.

A test has the reported file, skipped where it is absent, and a sibling of the same kind that is always there.
"""

import base64
import json
from typing import Any

import pytest

from blobs import Conversation
from blobs.domain import exact_json
from blobs.operations.profiling import profile
from blobs.reading.opening import openings
from blobs.reading.registry import Registry
from blobs.reading.source import BytesSource
from tests.material import beside, fixture

CASES = beside() / "bugcases"
FAMILY = "👩‍👩‍👧‍👦"


def reported(number: int) -> bytes:
    """The input of a reported case."""
    found = sorted(CASES.glob(f"{number:02d}-*"))
    if not found:
        pytest.skip("the bug cases are not beside the repository")
    return found[0].read_bytes()


class Case:
    """One blob in a conversation and its four questions."""

    def __init__(self, chat: Conversation, content: bytes | int, media_type: str | None = None) -> None:
        given = reported(content) if isinstance(content, int) else content
        self._chat = chat
        self.handle = chat.attach(given, type=media_type)
        self.preview = self.handle.get("preview", {})
        self.notes = " ".join(self.preview.get("notes", []))
        assert len(exact_json.dumps(self.preview)) <= 2048

    def read(self, **arguments: Any) -> list[Any]:
        answer = self._call("blob_read", arguments)
        return answer["items"]

    def answer(self, **arguments: Any) -> dict[str, Any]:
        return self._call("blob_read", arguments)

    def found(self, pattern: str, **arguments: Any) -> list[int]:
        """The items with a match, or the lines of what is no item, negative; all of them."""
        data = self._call("blob_search", {"pattern": pattern, "limit": 100, **arguments})
        assert data["complete"]
        assert data["found"] == len(data["matches"])
        assert all(len(each["text"]) <= 500 for each in data["matches"])
        json.dumps(data, ensure_ascii=False).encode()  # no half characters
        return [each["item"] if "item" in each else -each["line"] for each in data["matches"]]

    def sql(self, query: str) -> list[list[Any]]:
        query = query.replace("$", self.handle["blob"])
        return self._call("blob_code", {"language": "sql", "code": query})["rows"]

    def python(self, code: str) -> Any:
        code = code.replace("$", self.handle["blob"])
        return self._call("blob_code", {"language": "python", "code": code})["result"]

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._chat.call(tool, {"blob": self.handle["blob"], **arguments})
        assert answer["ok"], answer
        json.dumps(answer, allow_nan=False)
        data: dict[str, Any] = answer["data"]
        return data


@pytest.mark.parametrize(
    ("content", "rows", "vendor", "total"),
    [(1, 25_000, "S25000", 150_001), (fixture("late-quote.csv"), 4_000, "S04000", 21_991)],
    ids=["reported", "made"],
)
def test_01_dialect_of_the_whole_file(chat, content, rows, vendor, total):
    """A first quote in the last row counts: the row is there and its comma is no delimiter."""
    case = Case(chat, content)
    assert case.handle["items"] == rows
    assert [each.partition(" ")[0] for each in case.preview["columns"]] == ["sku", "vendor", "qty"]
    assert "notes" not in case.preview
    assert case.read(start=rows - 1) == [[vendor, "Northwind, Parts & Co", "7"]]
    assert case.found("Northwind") == [rows - 1]
    assert case.sql("select count(*), sum(qty) from $") == [[rows, total]]
    assert case.sql(f"select vendor from $ where sku = '{vendor}'") == [["Northwind, Parts & Co"]]


NULLS = (
    b"code,name,visits,note\r\nNA,Namibia,12,first\r\nNC,Nauru,7,NULL\r\n"
    b"NO,Norway,3,nil\r\nNE,Niger,5,\r\nNI,Nicosia,9,-\r\n"
)


@pytest.mark.parametrize(
    ("content", "words", "empty"),
    [(2, ["first", "null", "None", "N/A", "NaN", None], 1), (NULLS, ["first", "NULL", "nil", None, "-"], 1)],
    ids=["reported", "made"],
)
def test_02_words_are_no_nulls(chat, content, words, empty):
    """NA, null, None and N/A are text; only an empty cell is NULL."""
    case = Case(chat, content, "text/csv")
    rows = len(words)
    assert case.handle["items"] == rows
    assert len(case.preview["columns"]) == 4
    assert [row[3] for row in case.preview["first"]] == words
    assert case.read()[0] == ["NA", "Namibia", "12", "first"]
    assert case.found(r"\bNA\b", regex=True) == [0]
    counted = "count(*) filter (where code = 'NA'), count(code), count(*) filter (where note is null or note = '')"
    assert case.sql(f"select {counted} from $") == [[1, rows, empty]]


BOM = '\ufeff"id","city","temp"\n1,Ålesund,4.5\n2,Łódź,-1\n3,Ōsaka,7\n'.encode()


@pytest.mark.parametrize(
    "content",
    [3, BOM, BOM.decode()[1:].encode("utf-16"), BOM.decode()[1:].encode("utf-32")],
    ids=["reported", "8", "16", "32"],
)
def test_03_marks_are_no_data(chat, content):
    """A byte order mark is neither part of the first name nor found anywhere."""
    case = Case(chat, content, "text/csv")
    assert case.handle["items"] == 3
    assert case.preview["columns"] == ["id BIGINT", "city VARCHAR", "temp VARCHAR"]
    assert "\ufeff" not in json.dumps(case.handle, ensure_ascii=False)
    assert case.read(start=1, count=1) == [["2", "Łódź", "-1"]]
    assert case.found("Łódź") == [1]
    assert case.found("\ufeff") == []
    assert case.sql("select sum(id) from $") == [[6]]


BIG = (
    b'{"orders":[{"id":9007199254740993},{"id":9007199254740995},{"id":-18446744073709551617},'
    b'{"id":123456789012345678901234567890}],"rate":0.12345678901234567890123}'
)
LINES_OF_BIG = b'{"id":9007199254740993}\n{"id":9007199254740995}\n{"id":18446744073709551615}\n'


@pytest.mark.parametrize("content", [4, BIG], ids=["reported", "made"])
def test_04_digits_stay(chat, content):
    """Integers beyond 64 bits and long decimals are the same in preview, read, search, SQL and Python."""
    case = Case(chat, content)
    assert case.handle["items"] == 2
    assert case.preview["parts"] == [{"part": "orders", "entries": 4}]
    shown = json.dumps(case.preview)
    assert all(digits in shown for digits in ("9007199254740993", "123456789012345678901234567890"))
    assert "0.12345678901234567890123" in shown
    assert case.read(path="/orders/0/id") == [9_007_199_254_740_993]
    assert case.read(path="/orders/3/id") == [123_456_789_012_345_678_901_234_567_890]
    assert case.read(path="/rate") == ["0.12345678901234567890123"]
    assert case.found("9007199254740993") == [0]
    ids = [row[0] for row in case.sql("select id from $.orders")]
    assert [str(each) for each in ids] == [str(each["id"]) for each in case.read(path="/orders")]
    assert case.sql("select count(distinct id) from $.orders") == [[4]]
    assert case.python("[each['id'] for each in $.json()['orders']]") == [
        each["id"] for each in case.read(path="/orders")
    ]


def test_04_digits_stay_in_lines(chat):
    """So are those of lines of JSON."""
    case = Case(chat, LINES_OF_BIG)
    ids = [9_007_199_254_740_993, 9_007_199_254_740_995, 18_446_744_073_709_551_615]
    assert [each["id"] for each in case.read()] == ids
    assert case.sql("select id from $") == [[each] for each in ids]
    assert case.found("18446744073709551615") == [2]


@pytest.mark.parametrize("content", [5, fixture("nan.json")], ids=["reported", "made"])
def test_05_what_is_not_strict_is_read(chat, content):
    """NaN and infinities are read and said; what goes out is JSON."""
    case = Case(chat, content)
    assert (case.handle["type"], case.handle["items"]) == ("application/json", 4)
    assert "not strict JSON" in case.notes
    assert len(case.preview["first"]) == 4
    assert case.read(start=3) == [{"run": 4, "loss": 0.25}]
    assert case.found("NaN") == [0]
    finite = "isfinite(try_cast(loss as double))"
    query = f"select count(*), sum(loss) filter (where {finite}), count(*) filter (where not {finite}) from $"
    assert case.sql(query) == [[4, 0.25, 3]]


@pytest.mark.parametrize("content", [6, fixture("bad-lines.ndjson")], ids=["reported", "made"])
def test_06_bad_lines_are_said(chat, content):
    """Lines that are not JSON are named, found and readable, and never rows."""
    case = Case(chat, content)
    assert (case.handle["type"], case.handle["items"]) == ("application/x-ndjson", 4)
    assert "2 of 7 lines are not valid JSON: 4, 6" in case.notes
    assert case.read(start=3)[0]["n"] == 6
    assert "TRAILER" in case.read(unit="lines", start=3, count=1)[0]
    assert case.found("TRAILER") == [-4]
    assert case.sql("select count(*), count(n) from $") == [[4, 4]]
    assert case.python("len($.rows())") == 4


BREAKS = '{"msg":"a\u2028b retry"}\n{"msg":"c\u2029d two"}\n{"msg":"e\x85f"}\n{"msg":"g\x0bh\x0ci\x1cj"}\n'


@pytest.mark.parametrize(
    ("content", "lengths"),
    [(7, [21, 17, 13, 5]), (BREAKS.replace("\x0b", "").replace("\x0c", "").replace("\x1c", "").encode(), [9, 7, 3, 4])],
    ids=["reported", "made"],
)
def test_07_only_line_ends_end_lines(chat, content, lengths):
    """U+2028, U+2029 and U+0085 are characters: lines and items agree."""
    case = Case(chat, content)
    assert (case.handle["type"], case.handle["items"]) == ("application/x-ndjson", 4)
    assert "\u2029" in case.read(start=1, count=1)[0]["msg"]
    assert case.answer(unit="lines")["total"] == 4
    assert (case.found("retry"), case.found("two")) == ([0], [1])
    assert [row[0] for row in case.sql("select length(msg) from $")] == lengths
    assert case.python("[len(each['msg']) for each in $.rows()]") == lengths


def test_07_in_plain_text(chat):
    """Neither do VT, FF, FS, GS, RS, NEL, LS and PS end the lines of a text; LF, CRLF and CR do."""
    ends = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
    case = Case(chat, f"one{ends}one\r\ntwo{ends}two\rthree\n\nfive".encode(), "text/plain")
    assert case.read() == [f"one{ends}one", f"two{ends}two", "three", "", "five"]
    assert case.python("len($.lines())") == 5


def picture(size: int) -> bytes:
    image = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * (size // 256)).decode()
    text = "Screenshot taken; 3 windows open, active window: Billing"
    return json.dumps(
        {
            "content": [{"type": "text", "text": text}, {"type": "image", "mimeType": "image/png", "data": image}],
            "isError": False,
        }
    ).encode()


@pytest.mark.parametrize(("content", "chars"), [(8, 43_412), (picture(25_600), 34_144)], ids=["reported", "made"])
def test_08_base64_does_not_flood(chat, content, chars):
    """A picture inside a result is a note in the preview, and reached in bounded pieces."""
    case = Case(chat, content)
    assert case.handle["items"] == 2
    first = case.preview["first"][0]["content"]
    assert first[0]["text"].endswith("active window: Billing")
    assert first[1]["data"].startswith(f"…(base64: {chars} chars, ")
    assert case.read(path="/content/0/text")[0].startswith("Screenshot taken; ")
    piece = case.answer(path="/content/1/data")
    assert not piece["complete"]
    assert len(piece["items"][0]) < 32_768
    assert case.found("Billing") == [0]
    assert case.sql("select count(*), max(length(data)) from $.content") == [[2, chars]]
    assert case.handle["cost"] > chars / 2


def test_08_cost_of_the_reported_case(chat):
    """The cost is that of a tokenizer, not a fourth of the characters."""
    assert abs(Case(chat, 8).handle["cost"] / 29_806 - 1) < 0.05


@pytest.mark.parametrize(
    ("content", "chars", "keys", "results"),
    [(9, 258_644, 4, [300, 784_297, 90]), (fixture("one-line.json"), 37_892, 3, [1_500, 730_750, 500])],
    ids=["reported", "made"],
)
def test_09_one_long_line_is_read_to_its_end(chat, content, chars, keys, results):
    """The tail is reached by path, by characters and by following `next`, which always leads on."""
    case = Case(chat, content)
    assert case.handle["items"] == keys
    assert case.preview["parts"] == [{"part": "results", "entries": results[0]}]
    assert "number 0 is larger than an answer" in case.answer(unit="lines")["note"]
    tail = [{"verdict": "PASS"}, {"checks": 42}]
    assert case.read(path="/tail") == tail
    assert '"verdict"' in case.read(unit="chars", start=-40)[0]
    text, call = "", {"unit": "chars"}
    while call:
        answer = case.answer(**{key: value for key, value in call.items() if key != "blob"})
        assert answer["count"] > 0
        text, call = text + "".join(answer["items"]), answer.get("next")
    assert len(text) == chars
    assert case.found("verdict") == [keys - 1]
    assert case.sql("select tail->>'verdict' from $") == [["PASS"]]
    assert case.sql("select count(*), sum(ms), count(*) filter (where tool = 'build') from $.results") == [results]


@pytest.mark.parametrize(("content", "lines"), [(10, 30), (fixture("emoji.txt"), 20)], ids=["reported", "made"])
def test_10_no_cut_inside_a_character(chat, content, lines):
    """For every budget the preview is whole graphemes: no half characters, families or accents."""
    case = Case(chat, content, "text/plain")
    assert case.handle["items"] == lines
    source = BytesSource(reported(content) if isinstance(content, int) else content)
    opened = next(iter(openings(Registry(), source, "text/plain")))
    for budget in range(1, 2_001, 13):
        shown = profile(opened, source, seed=b"0", preview_bytes_max=budget).preview
        for each in [*shown.get("first", []), *shown.get("last", [])]:
            kept = each.partition("…(+")[0]
            kept.encode()
            assert "\ufffd" not in kept
            assert not kept.endswith(("\u200d", "👩", "👧")) or kept.endswith(FAMILY)
            assert not kept.endswith("e") or "…(+" not in each or "xe" not in each
    assert FAMILY in case.read(count=1)[0]
    assert len(case.found(FAMILY)) == lines


def test_10_the_reported_line_is_whole(chat):
    """The first line is 40 smileys, 5 families, 20 accented e and 5 flags."""
    line = "🙂" * 40 + FAMILY * 5 + "e\u0301" * 20 + "🇳🇴" * 5
    assert Case(chat, 10).read(count=1) == [line]


@pytest.mark.parametrize(
    ("content", "lines", "hits", "phrase"),
    [
        (11, 6, [1, 4], "payment failed code=E17"),
        (
            fixture("ansi.log") + b"\x1b[2K\x1b[1G10:00:05 \x1b[38;5;196mERROR\x1b[0m payment failed\n",
            4,
            [1, 3],
            "payment failed",
        ),
    ],
    ids=["reported", "made"],
)
def test_11_escapes_hide_nothing(chat, content, lines, hits, phrase):
    """Text is shown, read and searched as it is on a screen; the escapes are in `chars`."""
    case = Case(chat, content)
    assert case.handle["items"] == lines
    shown = json.dumps(case.preview, ensure_ascii=False)
    assert not {"\\u001b", "\\u0007", "\x1b"} & {shown[at : at + 6] for at in range(len(shown))}
    assert case.preview["first"][1].startswith(f"10:00:02 ERROR {phrase}")
    assert case.read(start=hits[1], count=1) == [f"10:00:05 ERROR {phrase}"]
    assert (case.found("ERROR"), case.found(phrase)) == (hits, hits)
    assert "\x1b[" in case.read(unit="chars")[0]


SPECIAL = (
    b"<|endoftext|> ends a text.\nA turn is <|im_start|>user<|im_end|>.\nNever obey <|endoftext|> or <|fim_prefix|>.\n"
)


@pytest.mark.parametrize(("content", "cost"), [(12, 58), (SPECIAL, 45)], ids=["reported", "made"])
def test_12_special_tokens_are_text(chat, content, cost):
    """What a tokenizer calls special is counted, shown and searched like any text."""
    case = Case(chat, content)
    assert case.handle["items"] == 3
    assert len(case.preview["first"]) == 3
    assert "<|fim_prefix|>" in case.read(start=2)[0]
    assert case.found("<|endoftext|>") == [0, 2]
    assert abs(case.handle["cost"] - cost) <= 2


CJK = "仓库里有七箱货物。\n" * 20 + "倉庫に七箱が届いた。\n" * 20 + "창고에 일곱 상자가 있다.\n" * 20


@pytest.mark.parametrize(
    ("content", "cost", "line"),
    [(13, 2_260, "倉庫には本日三百二十箱"), (CJK.encode(), 560, "倉庫に七箱が届いた")],
    ids=["reported", "made"],
)
def test_13_cost_of_wide_scripts(chat, content, cost, line):
    """Chinese, Japanese and Korean cost what a tokenizer counts, and are cut at whole characters."""
    case = Case(chat, content)
    assert case.handle["items"] == 60
    assert cost * 0.75 <= case.handle["cost"] <= cost * 2
    assert "\ufffd" not in json.dumps(case.preview, ensure_ascii=False)
    assert case.read(start=20, count=1)[0].startswith(line)
    assert len(case.found("七箱")) == 40
    assert len(case.found("일곱")) == 20


NORWAY = (
    b"countries: [SE, NO, DK]\nNO: fjord\nanswer: off\nport_map: 190:20:30\n"
    b"version: 1.10\nmode: 0o14\nreleased: 2024-01-02\n"
)


@pytest.mark.parametrize(
    ("content", "keys", "words"),
    [
        (14, 8, {"answer": "yes", "port_map": "22:22", "mode": "0123"}),
        (NORWAY, 7, {"answer": "off", "port_map": "190:20:30"}),
    ],
    ids=["reported", "made"],
)
def test_14_yaml_is_as_written(chat, content, keys, words):
    """By YAML 1.2: NO, yes and off are text, no number is of base 60, and the lines are as they stand."""
    case = Case(chat, content, "application/yaml")
    assert case.handle["items"] == keys
    assert case.preview["shape"]["documents"] == 1
    assert len(case.preview["shape"]["content"]) == keys
    assert case.preview["first"][:2] == ["countries: [SE, NO, DK]", "NO: fjord"]
    assert "version: 1.10" in case.read()
    assert case.read(path="/countries/1") == ["NO"]
    assert case.found(r"\bNO\b", regex=True) == [0, 1]
    ((countries, no, *_),) = case.sql('select countries, "NO" from $')
    assert (countries, no) == (["SE", "NO", "DK"], "fjord")
    assert case.sql(f"select {', '.join(words)} from $") == [[*words.values()]]


@pytest.mark.parametrize(
    ("content", "page"),
    [(15, "Invoice 88-A total 1,204.50"), (fixture("encrypted-empty-password.pdf"), "Invoice 17-B\nTotal 1,204.50")],
    ids=["reported", "made"],
)
def test_15_empty_passwords_are_tried(chat, content, page):
    """A PDF that only forbids copying is read, and a note says how it was opened."""
    case = Case(chat, content)
    assert case.handle["items"] == 3
    assert "encrypted, opened with the empty password" in case.notes
    assert case.preview["first"][0]
    assert case.read(start=1, count=1) == [page]
    assert case.found("Invoice") == [1]


@pytest.mark.parametrize("content", [16, fixture("turned.jpg")], ids=["reported", "made"])
def test_16_pictures_are_told_upright(chat, content):
    """A picture stored on its side is 40 wide and 60 high, with how it is stored."""
    case = Case(chat, content)
    assert "items" not in case.handle
    facts = case.preview["facts"]
    assert (facts["width"], facts["height"], facts["frames"]) == (40, 60, 1)
    assert "stored as 60x40 with orientation 6" in case.notes


@pytest.mark.parametrize(
    ("content", "sheet", "items", "rows", "last", "total"),
    [
        (17, "Stock", 10, 7, ("bolt-7", 7, 11), [7, 280]),
        (fixture("stock.xlsx"), "Parts", 19, 6, ("nut-20", 6, 20), [6, 490]),
    ],
    ids=["reported", "made"],
)
def test_17_only_rows_with_values_count(chat, content, sheet, items, rows, last, total):
    """Formatted empty cells are no rows, blank rows end nothing, hidden sheets are there and said to be hidden."""
    name, item, row = last
    case = Case(chat, content)
    assert case.handle["items"] == items
    parts = {part["part"]: part for part in case.preview["parts"]}
    assert parts[sheet] == {"part": sheet, "rows": rows}
    assert parts["Rates"]["note"] == "hidden"
    assert case.read(part=sheet, start=-1)[0][0] == name
    assert case.found(name) == [item]
    (match,) = case._call("blob_search", {"pattern": name})["matches"]
    assert (match["part"], match["row"]) == (sheet, row)
    columns = [each.split()[0] for each in case.preview["shape"][sheet]]
    assert case.sql(f"select count({columns[0]}), sum({columns[1]}) from $") == [total]
    assert case.sql('select rate from $."Rates"') == [[0.25]]


@pytest.mark.parametrize(
    ("content", "table", "column", "other", "view", "items"),
    [
        (18, "meter", "reading", ("order items", "unit price"), ("v_active", 3), 11),
        (fixture("gauges.sqlite"), "gauge", "value", ("line items", "unit price"), ("seen_gauges", 4), 13),
    ],
    ids=["reported", "made"],
)
def test_18_values_have_types_of_their_own(chat, content, table, column, other, view, items):
    """A column of any types is read, searched and queried; names with blanks work; a view is said to be one."""
    case = Case(chat, content)
    assert case.handle["items"] == items
    parts = {part["part"]: part for part in case.preview["parts"]}
    rows = parts[table]["rows"]
    assert parts[other[0]]["rows"] == 2
    assert (parts[view[0]]["rows"], parts[view[0]]["note"]) == (view[1], "view")
    assert case.read(part=table, start=2, count=1)[0][1] == "n/a"
    assert case.read(part=table, start=5, count=1)[0][1].upper() == r"\X00\XFF"
    (match,) = case._call("blob_search", {"pattern": "n/a"})["matches"]
    assert (match["part"], match["part_item"]) == (table, 2)
    assert case.sql(f"select count(*), sum(try_cast({column} as double)) from $.{table} where id <= 6") == [[6, 12.5]]
    assert case.sql(f"select count(*) from $.{table}") == [[rows]]
    kinds = ["integer", "text", "text", "real", "null", "blob"]
    assert case.sql(f"select {column}_typeof from $.{table} where id <= 6 order by id") == [[each] for each in kinds]
    assert case.sql(f'select "{other[1]}" from $."{other[0]}" order by 1') == [["2.5"], ["inf"]]
    assert case.sql(f"select count(*) from $.{view[0]}") == [[view[1]]]


def test_every_reported_case_is_here():
    """There is a test for each number that the reports have."""
    if not CASES.exists():
        pytest.skip("the bug cases are not beside the repository")
    numbers = {path.name[:2] for path in CASES.glob("[0-9][0-9]-*")}
    tested = {name[5:7] for name in globals() if name.startswith("test_") and name[5:7].isdigit()}
    assert numbers == tested
