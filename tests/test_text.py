"""Tables as text: what a person reads lines up."""

from mercer.text import plain, text_table


def test_numbers_stand_to_the_right_and_words_to_the_left():
    text = text_table(["name", "value"], [["a", 1.0], ["longer", 123.456789]])
    assert text == "name    value\n------  -----\na           1\nlonger  123.5"


def test_a_column_with_one_word_is_a_column_of_words():
    assert text_table(["x"], [[1], ["none"]]).splitlines()[2:] == ["1", "none"]


def test_no_rows_leave_the_head():
    assert text_table(["a", "bc"], []) == "a  bc\n-  --"


def test_lines_do_not_end_in_blanks():
    text = text_table(["name", "how"], [["a", ""], ["b", "long words"]])
    assert all(line == line.rstrip() for line in text.splitlines())


def test_not_a_number_and_infinity_are_said():
    assert text_table(["x"], [[float("nan")], [float("inf")]]).splitlines()[2:] == ["nan", "inf"]


def test_numbers_are_written_out_up_to_a_thousand_million():
    assert [plain(value) for value in (361634.2, 103.0, -12345678.0, 0.0, 0.000123)] == [
        "361600",
        "103",
        "-12350000",
        "0",
        "0.000123",
    ]
    assert (plain(103.0, 1), plain(99.96, 2), plain(1e9), plain(9.9999e8)) == ("100", "100", "1e+09", "1e+09")
    assert (plain(1.5e-5), plain(float("nan")), plain(float("inf"))) == ("1.5e-05", "nan", "inf")
