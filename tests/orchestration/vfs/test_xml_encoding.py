"""XML is decoded as it says itself, and no byte is a reason to read nothing."""

from __future__ import annotations

import codecs

import pytest
from phasekeeper.orchestration.vfs.files import decode
from phasekeeper.orchestration.vfs.xml_encoding import decode_xml


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"<a>\xc3\xa9</a>", "<a>é</a>"),
        (codecs.BOM_UTF8 + b"<a>\xc3\xa9</a>", "<a>é</a>"),
        (codecs.BOM_UTF16_LE + "<a>é</a>".encode("utf-16-le"), "<a>é</a>"),
        (codecs.BOM_UTF16_BE + "<a>é</a>".encode("utf-16-be"), "<a>é</a>"),
        (b"<?xml encoding='ISO-8859-1'?><a>\xe9</a>", "<?xml encoding='ISO-8859-1'?><a>é</a>"),
        (b'<?xml version="1.0" encoding="cp1252"?>\x80', '<?xml version="1.0" encoding="cp1252"?>€'),
        (b"<?xml encoding='utf-16'?><a>\xc3\xa9</a>", "<?xml encoding='utf-16'?><a>é</a>"),
        (b"<a>\xff\xc3</a>", "<a>\ufffd\ufffd</a>"),
        (b"", ""),
    ],
)  # fmt: skip
def test_the_text_of_bytes(raw: bytes, text: str) -> None:
    assert decode_xml(raw) == text
    assert decode("a.xml", raw).text == text


@pytest.mark.parametrize("name", ["utf-7", "rot13", "idna", "zip", "no-such", "base64_codec"])
def test_an_encoding_that_is_none_of_texts_is_not_known(name: str) -> None:
    raw = f"<?xml version='1.0' encoding='{name}'?><a/>".encode()
    with pytest.raises(LookupError, match=name):
        decode_xml(raw)
    file = decode("a.xml", raw)
    assert file.text is None
    assert file.problem is not None
    assert file.problem.message == f"its encoding {name} is not known"


def test_other_files_are_utf_8_or_not_read() -> None:
    assert decode("a.txt", b"\xff").text is None
