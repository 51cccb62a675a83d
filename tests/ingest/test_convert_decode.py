"""Test decoding with every encoding of the hostile collection."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.reading.decode import NotText, decode

MIXED = "Grüße aus Köln – naïve café, Žluťoučký kůň, 日本語テキスト, Ελληνικά, русский zqx50\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\0\0", "utf-32-le"),
        (b"\0\0\xfe\xff", "utf-32-be"),
        (b"", "utf-16-le"),
        (b"", "utf-16-be"),
        (b"", "utf-32-le"),
        (b"", "utf-32-be"),
    ],
)
def test_unicode_encodings_with_and_without_a_mark(mark: bytes, encoding: str) -> None:
    assert decode(mark + MIXED.encode(encoding)) == MIXED


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Grüße naïve café zqx51\n", "latin-1"),
        ("“smart” ‘quotes’ – dash … € zqx52\n", "cp1252"),
        ("吾輩は猫である。名前はまだ無い。 zqx53\n", "shift_jis"),
        ("吾輩は猫である。名前はまだ無い。\n", "euc_jp"),
        ("信息检索是计算机科学的一个分支。 zqx54\n", "gb18030"),
        ("資訊檢索是電腦科學的一個分支。\n", "big5"),
        ("안녕하세요 세계 문서입니다\n", "cp949"),
        ("Поиск по документам zqx55\n", "koi8-r"),
        ("Привет мир, это проверка документа\n", "cp1251"),
        ("Καλημέρα κόσμε\n", "cp1253"),
        ("مرحبا بالعالم\n", "cp1256"),
        ("Žluťoučký kůň úpěl ďábelské ódy\n", "cp1250"),
        ("Zażółć gęślą jaźń, złoty i łódź\n", "cp1250"),
    ],
)
def test_older_encodings_are_recognised(text: str, encoding: str) -> None:
    assert decode((text * 20).encode(encoding)) == text * 20


@pytest.mark.parametrize(
    ("encodings", "text"),
    [
        ("shift_jis euc_jp iso2022_jp", "会議は明日の午後三時に始まります。"),
        ("shift_jis euc_jp", "東京都千代田区"),
        ("shift_jis euc_jp", "データベースの設定ファイル"),
        ("gb18030", "购物清单：牛奶、鸡蛋、面包"),
        ("gb18030", "项目计划\n预算表"),
        ("big5", "會議明天下午三點開始。"),
        ("cp949", "창고 열쇠는 김 선생님이 가지고 있습니다."),
        ("koi8-r cp1251 cp866 iso8859_5", "Привет, мир"),
        ("koi8-r cp1251 cp866 iso8859_5", "Список покупок: молоко, яйца, хлеб"),
        ("koi8-u cp1251", "Зустріч почнеться завтра о третій годині."),
        ("cp1253 iso8859_7", "Η συνάντηση αρχίζει αύριο στις τρεις."),
        ("cp1255", "הפגישה תתחיל מחר בשלוש"),
        ("cp1256", "يبدأ الاجتماع غدا في الساعة الثالثة"),
        ("cp874", "การประชุมจะเริ่มพรุ่งนี้"),
        ("cp1250 iso8859_2", "Spotkanie rozpocznie się jutro o piętnastej"),
        ("cp1250 iso8859_2", "Schůzka začíná zítra ve tři hodiny"),
        ("cp1250", "A megbeszélés holnap háromkor kezdődik"),
        ("cp1254", "Toplantı yarın saat üçte başlıyor"),
        ("cp1257", "Susitikimas prasidės rytoj trečią valandą"),
        ("cp1252", "L’été dernier, où êtes-vous allé ?"),
        ("utf-16-le utf-16-be", "кораблик"),
        ("utf-16-le utf-16-be", "Записка о погоде.\nКораблик стоял у пристани.\n"),
        ("utf-16-le utf-16-be", "仓库的钥匙在王先生那里，请在星期五以前归还。\n"),
        ("utf-16-le utf-16-be", "倉庫の鍵は山田さんが持っています。\n"),
        ("utf-16-le utf-16-be", "창고 열쇠는 김 선생님이 가지고 있습니다.\n"),
        ("utf-16-le utf-16-be", "Η συνάντηση αρχίζει αύριο στις τρεις."),
        ("utf-16-le utf-16-be", "יבדוק את המפתח\n"),
    ],
)
def test_one_sentence_is_enough(encodings: str, text: str) -> None:
    for encoding in encodings.split():
        assert decode(text.encode(encoding)) == text, encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("one line with Köln-Mülheim", "latin-1"),
        ("Встреча начинается в три часа", "cp1251"),
        ("会议明天下午三点开始，请准时参加。", "gb18030"),
        ("会議は明日の午後三時に始まります。", "shift_jis"),
    ],
)
def test_lines_in_two_encodings_are_both_read(text: str, encoding: str) -> None:
    ours, other = "zuerst Müllheim", text
    utf8, older = ours.encode(), other.encode(encoding)
    assert decode(b"\n".join([utf8] * 3 + [older] * 3)) == "\n".join([ours] * 3 + [other] * 3)
    assert decode(b"\n".join([older] * 3 + [utf8] * 3)) == "\n".join([other] * 3 + [ours] * 3)


def test_latin_letters_inside_of_utf8_are_read() -> None:
    utf8, other = "Müllheim – ", "Köln-Mülheim über"
    assert decode(utf8.encode() * 3 + other.encode("latin-1")) == utf8 * 3 + other


def test_a_short_western_text_is_not_taken_for_another_language() -> None:
    assert decode("naïve café".encode("latin-1")) == "naïve café"
    assert decode("Él señor, crème brûlée, don’t — œuvre".encode("cp1252")).startswith("Él señor")


def test_utf8_with_a_few_invalid_bytes_stays_utf8() -> None:
    data = "é".encode() * 4095
    assert decode(data[:-1]) == "é" * 4094 + "\ufffd"
    assert decode("Žluťoučký kůň ".encode() * 10 + b"\xff end") == "Žluťoučký kůň " * 10 + "\ufffd end"


@pytest.mark.parametrize(
    "data",
    [
        b"# ok\n\nbad \xff\xfe\xc3\x28\xa0\xa1\xe2\x28\xa1\xf0\x28\x8c\x28 end zqx56\n",
        b"# x\n\n\xc0\xaf \xed\xa0\x80 \xed\xbf\xbf \xf4\x90\x80\x80 zqx57\n",
    ],
)
def test_valid_parts_of_an_invalid_text_are_kept(data: bytes) -> None:
    text = decode(data)
    assert text.startswith("# ")
    assert "zqx" in text
    text.encode("utf-8")


@pytest.mark.parametrize(
    "data", [b"# NUL\n\nbefore\0after\n" + b"\0" * 4096, bytes(range(256)) * 400, b"\0", b"MZ\x90\0\x03\0\0\0\x04"]
)
def test_binary_is_not_text(data: bytes) -> None:
    with pytest.raises(NotText):
        decode(data)


def test_a_single_nul_or_control_does_not_make_a_text_binary() -> None:
    assert decode(b"word " * 1000 + b"\0 end").endswith("\0 end")
    assert "red" in decode(bytes(range(1, 32)) + b" \x1b[31mred\x1b[0m\n")


def test_a_declared_charset_is_honoured_where_utf8_does_not_fit() -> None:
    assert decode("Ärger".encode("iso8859-15"), "ISO-8859-15") == "Ärger"
    assert decode("日本語".encode("iso2022_jp"), "iso-2022-jp") == "日本語"
    assert decode("日本語".encode(), "shift_jis") == "日本語"
    assert decode("naïve".encode("latin-1"), "no-such-charset") == "naïve"


def test_the_guess_looks_where_the_letters_are() -> None:
    text = "ascii only\n" * 20_000 + "Поиск по документам\n" * 40
    assert decode(text.encode("koi8-r")) == text


def test_large_inputs_are_quick() -> None:
    started = time.process_time()
    decode(b"The quick index walks over a lazy corpus. " * 300_000)
    decode(b"x" * 5_000_000)
    decode("Größe und Maß ".encode("latin-1") * 400_000)
    assert time.process_time() - started < 3


@given(st.binary(max_size=2000))
def test_any_bytes_are_text_that_can_be_stored_or_are_not_text(data: bytes) -> None:
    try:
        text = decode(data)
    except NotText:
        return
    text.encode("utf-8")


@given(st.text(max_size=500))
def test_utf8_is_returned_as_it_is(text: str) -> None:
    if "\0" not in text and not text.startswith("\ufeff"):
        assert decode(text.encode("utf-8", "replace")) == text.encode("utf-8", "replace").decode()
