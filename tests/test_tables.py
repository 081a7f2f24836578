"""Tables as text: what a person reads lines up."""

from mercer.tables import text_table


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
