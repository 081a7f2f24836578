"""Small tables as new users have them, each with what `mercer fit` has to make of it.

A case is right in one of two ways. It is read: every column in `columns` is of the kind given and begins with the cells
given, and every pattern of `said` is found in what is printed. Or it is refused, in a sentence that `refused` matches
and that names the way out. A case that has both `columns` and `refused` may be either; one that has `refused` alone
must not be read.
"""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

ROWS = 40


@dataclass(frozen=True)
class Messy:
    """A table and the right answer.

    Attributes
    ----------
    name : str
        What is messy about it.
    raw : bytes
        The file.
    flags : tuple of str
        Further words for `mercer fit TABLE --target TARGET`.
    columns : dict of str to (kind, first cells)
        Several kinds that are all right have bars between them. Columns that are not learned from, such as the target
        and the weights, are of the kind of their cells. Cells are numbers, moments such as "2020-08-25T13:00", texts of
        categories, or None where missing. Durations and times of day are numbers of days.
    said : tuple of str
        Patterns of what must be printed.
    refused : str or None
        A pattern of the refusal.
    target : str
        The column to predict.
    """

    name: str
    raw: bytes
    flags: tuple[str, ...] = ()
    columns: dict[str, tuple[str, list]] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    refused: str | None = None
    target: str = "y"


def _table(columns: dict[str, list], separator: str = ",", encoding: str = "utf-8") -> bytes:
    """Columns as the bytes of a file; cells with a separator in them are quoted."""
    text = io.StringIO()
    lines = csv.writer(text, delimiter=separator, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode(encoding)


def _cells(first: list[str], other: Callable[[int], str], rows: int = ROWS) -> list[str]:
    """The first cells as they are written here, and the others by the number of their row."""
    return first + [other(row) for row in range(len(first), rows)]


def _around(seed: int, rows: int = ROWS) -> tuple[list[int], list[float]]:
    """Sizes, and a target that they say something about."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(40, 200, size=rows)
    return sizes.tolist(), (2 * sizes + rng.normal(scale=40, size=rows)).round(1).tolist()


def _beside(seed: int, **messy: list) -> bytes:
    """Messy columns between a tidy one and a tidy target, with decimal points."""
    sizes, y = _around(seed)
    return _table({"size": sizes, **messy, "y": y})


def _beside_whole(seed: int, **messy: list) -> bytes:
    """The same with whole numbers: nothing but the messy columns tells the decimal sign."""
    sizes, y = _around(seed)
    return _table({"size": sizes, **messy, "y": [round(value) for value in y]})


def _day(row: int) -> date:
    return date(2019, 1, 1) + timedelta(days=37 * row % 700)


def _early(row: int) -> tuple[int, int, int]:
    """Day, month and year of a day that is no later than the 12th: either order is possible."""
    return 1 + 5 * row % 12, 1 + row // 2 * 7 % 12, 2016 + row % 5


def _comma(value: float) -> str:
    """A number with a decimal comma and points between thousands."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def _hours_matter() -> bytes:
    """A target that depends on the hour alone, and moments of a hundred days."""
    rng = np.random.default_rng(6)
    days, hours = rng.integers(0, 100, size=60), rng.integers(0, 24, size=60)
    days[:2], hours[:2] = (2, 3), (13, 4)
    y = 20 + 8 * np.sin(2 * np.pi * (hours - 9) / 24) + rng.normal(scale=0.5, size=60)
    moments = [
        f"{date(2020, 8, 23) + timedelta(days=day)}T{hour:02d}:00"
        for day, hour in zip(days.tolist(), hours.tolist(), strict=True)
    ]
    return _table({"measured": moments, "site": ["north", "south", "west"] * 20, "y": y.round(2).tolist()})


def _only_early(order: Callable[[int, int, int], str], seed: int) -> bytes:
    return _beside(seed, when=_cells(["03/04/2020", "11/05/2019"], lambda row: order(*_early(row))))


def _gaps_in_target() -> bytes:
    """Three rows without a target, and five others without a size."""
    sizes, y = _around(27)
    without = {3: "", 17: "NA", 30: ""}
    return _table(
        {
            "size": ["" if row % 8 == 2 else size for row, size in enumerate(sizes)],
            "garden": ["yes" if row % 3 else "no" for row in range(ROWS)],
            "y": [without.get(row, value) for row, value in enumerate(y)],
        }
    )


def _labels_with_na() -> bytes:
    sizes, _ = _around(29)
    labels = ["NA" if row % 8 == 5 else "yes" if size > 110 else "no" for row, size in enumerate(sizes)]
    return _table({"size": sizes, "garden": ["a", "b", "b", "c", "a"] * 8, "y": labels})


def _household() -> bytes:
    """One column twice, and the sum of two columns."""
    rng = np.random.default_rng(32)
    food, rent = rng.integers(200, 900, size=ROWS), rng.integers(500, 2500, size=ROWS)
    y = rng.normal(50, 10, size=ROWS) + food / 50
    return _table({"food": food, "rent": rent, "housing": rent, "spent": food + rent, "y": y.round(1)})


def _invoices() -> bytes:
    """A target that is the product of two columns, rounded."""
    rng = np.random.default_rng(35)
    price, quantity = rng.uniform(2, 90, size=50).round(2), rng.integers(1, 40, size=50)
    shop = rng.choice(["Bath", "Leeds", "York"], size=50)
    return _table({"price": price, "shop": shop, "quantity": quantity, "y": (price * quantity).round(2)})


def _goals() -> bytes:
    """A target that is the sum of two columns."""
    rng = np.random.default_rng(36)
    home, away, crowd = (rng.integers(0, high, size=50) for high in (60, 60, 9000))
    return _table({"home": home, "away": away, "crowd": crowd, "y": home + away})


def _sales_by_day() -> bytes:
    rng = np.random.default_rng(37)
    days = [date(2021, 1, 4) + timedelta(days=row) for row in range(60)]
    heat = rng.normal(15, 6, size=60)
    y = 100 + np.arange(60) + 3 * heat + rng.normal(scale=8, size=60)
    return _table({"day": days, "heat": heat.round(1), "y": y.round(1)})


def _visits() -> bytes:
    rng = np.random.default_rng(38)
    age, patient = rng.integers(20, 90, size=48), np.arange(48) // 4
    names = [f"P{place:02d}" for place in patient]
    y = 90 + 0.6 * age + rng.normal(scale=8, size=12)[patient] + rng.normal(scale=3, size=48)
    return _table({"patient": names, "age": age, "sex": ["f", "m", "m"] * 16, "y": y.round(1)})


def _faults() -> bytes:
    rng = np.random.default_rng(40)
    fault = np.arange(56) % 7 == 3
    heat = rng.normal(60, 5, size=56) + 9 * fault
    labels = np.where(fault, "fault", "ok")
    return _table({"heat": heat.round(1), "load": rng.integers(1, 100, size=56), "y": labels})


_DATES = [
    Messy(
        "days with points, and words for missing ones",
        _beside(1, sold=_cells(["25.08.2020", "n/a", "03.04.2020", "-", ""], lambda row: f"{_day(row):%d.%m.%Y}")),
        columns={"sold": ("date", ["2020-08-25T00:00", None, "2020-04-03T00:00", None, None])},
        said=(r"'sold'.*taken as missing",),
    ),
    Messy(
        "month first, which one cell tells",
        _beside(
            2,
            sold=_cells(
                ["3/4/2020", "11/5/2019"],
                lambda row: "8/25/2020" if row == 30 else "{1}/{0}/{2}".format(*_early(row)),
            ),
        ),
        columns={"sold": ("date", ["2020-03-04T00:00", "2019-11-05T00:00"])},
    ),
    Messy(
        "day first, which the last cell tells",
        _beside(
            3,
            sold=_cells(
                ["03/04/2020", "11/05/2019"],
                lambda row: "25/12/2019" if row == ROWS - 1 else "{:02d}/{:02d}/{}".format(*_early(row)),
            ),
        ),
        columns={"sold": ("date", ["2020-04-03T00:00", "2019-05-11T00:00"])},
    ),
    Messy(
        "either order of day and month",
        _only_early("{:02d}/{:02d}/{}".format, 4),
        refused=r"'when'.*--date-format",
    ),
    Messy(
        "either order of day and month, and the format is said",
        _only_early("{:02d}/{:02d}/{}".format, 4),
        flags=("--date-format", "%d/%m/%Y"),
        columns={"when": ("date", ["2020-04-03T00:00", "2019-05-11T00:00"])},
    ),
    Messy(
        "moments whose hour matters",
        _hours_matter(),
        columns={"measured": ("date", ["2020-08-25T13:00", "2020-08-26T04:00"]), "site": ("category", ["north"])},
        said=(r"(?s)\A(?!.*not shown to be better than the baseline)",),
    ),
    Messy(
        "times of day, of 24 and of 12 hours",
        _beside(
            7,
            opens=_cells(["07:45", "18:00"], lambda row: f"{(5 + 7 * row) % 24:02d}:{row % 4 * 15:02d}"),
            closes=_cells(
                ["01:30 PM", "12:15 AM", "12:00 PM"],
                lambda row: f"{1 + 5 * row % 12:02d}:{row % 4 * 15:02d} {'AP'[row % 2]}M",
            ),
            booked=_cells(["8/25/2020 1:30 PM", "3/4/2020 12:05 AM"], lambda row: f"{_day(row):%m/%d/%Y} 11:20 AM"),
        ),
        columns={
            "opens": ("number|date", [7.75 / 24, 18 / 24]),
            "closes": ("number|date", [13.5 / 24, 0.25 / 24, 12 / 24]),
            "booked": ("date", ["2020-08-25T13:30", "2020-03-04T00:05"]),
        },
    ),
    Messy(
        "days of eight digits",
        _beside(8, day=_cells(["20200825", "20190103"], lambda row: f"{_day(row):%Y%m%d}")),
        columns={"day": ("date", ["2020-08-25T00:00", "2019-01-03T00:00"])},
    ),
    Messy(
        "days with points and times",
        _beside(
            9,
            seen=_cells(
                ["25.08.2020 13:45", "03.04.2020 00:10"],
                lambda row: f"{_day(row):%d.%m.%Y} {3 * row % 24:02d}:{7 * row % 60:02d}",
            ),
        ),
        columns={"seen": ("date", ["2020-08-25T13:45", "2020-04-03T00:10"])},
    ),
    Messy(
        "durations",
        _beside(
            10,
            worked=_cells(["26:30:00", "08:15:00"], lambda row: f"{11 * row % 70:02d}:{7 * row % 60:02d}:30"),
            waited=_cells(
                ["1 days 02:00:00", "0 days 00:45:00"], lambda row: f"{row % 5} days {5 * row % 24:02d}:10:00"
            ),
        ),
        columns={"worked": ("number", [26.5 / 24, 8.25 / 24]), "waited": ("number", [26 / 24, 0.75 / 24])},
    ),
    Messy(
        "days with one in another format, and one that is none",
        _beside(
            44,
            sold=_cells(["2020-08-25", "7.3.2020"], lambda row: f"{_day(row)}"),
            seen=_cells(["2020-08-25", "2020-02-30"], lambda row: f"{_day(row)}"),
        ),
        columns={"sold": ("identifier", ["2020-08-25"]), "seen": ("identifier", ["2020-08-25"])},
        said=(
            r"(?m)^Warning: Column 'sold' .*in one format.*'7.3.2020' in line 3 ",
            r"(?m)^Warning: Column 'seen' .*2.5 % .*'2020-02-30' in line 3 ",
        ),
    ),
    Messy(
        "what looks like dates and times and is none",
        _beside(
            11,
            version=["1.10.2", "1.10.4", "2.4.11", "2.5.0"] * 10,
            score=["2:1", "0:0", "3:2", "1:4", "0:2"] * 8,
            season=["2019/20", "2020/21"] * 20,
            part=_cells(["10482213", "48210077"], lambda row: str(31_000_000 + 1_234_577 * row % 9_000_000)),
        ),
        columns={
            "version": ("category", ["1.10.2", "1.10.4"]),
            "score": ("category", ["2:1", "0:0"]),
            "season": ("category", ["2019/20", "2020/21"]),
            "part": ("number", [10482213, 48210077]),
        },
        said=(r"(?is)\A(?!.*leak)",),
    ),
]

_NUMBERS = [
    Messy(
        "decimal points beside commas between thousands",
        _beside_whole(
            12,
            sales=_cells(
                ["153.1", "713,935", "88"],
                lambda row: f"{7919 * row % 90_001 + 1000:,}" if row % 4 else f"{611 * row % 9001 / 10}",
            ),
        ),
        columns={"sales": ("number", [153.1, 713935, 88])},
    ),
    Messy(
        "decimal points in one column, commas between thousands in another",
        _beside_whole(
            13,
            rate=_cells(["153.1", "20.75"], lambda row: f"{7919 * row % 900 / 10}"),
            people=_cells(["713,935", "12,004"], lambda row: f"{7919 * row % 90_001 + 1000:,}"),
        ),
        columns={"rate": ("number", [153.1, 20.75]), "people": ("number", [713935, 12004])},
    ),
    Messy(
        "dollars and percent",
        _beside_whole(
            14,
            price=_cells(["$1,234.50", "$99.00"], lambda row: f"${7919 * row % 400_000 / 100:,.2f}"),
            discount=_cells(["12.5%", "3%", "0%"], lambda row: f"{37 * row % 500 / 10}%"),
        ),
        columns={"price": ("number", [1234.5, 99]), "discount": ("number", [12.5, 3, 0])},
    ),
    Messy(
        "euros with decimal commas, in the target too",
        _table(
            {
                "fee": _cells(["12 €", "1.234,50 €"], lambda row: f"{_comma(7919 * row % 400_000 / 100)} €"),
                "rooms": [1 + row % 5 for row in range(ROWS)],
                "y": _cells(["2.310,00 €", "99,90 €"], lambda row: f"{_comma(6007 * row % 300_000 / 100)}\xa0€"),
            },
            ";",
        ),
        columns={"fee": ("number", [12, 1234.5]), "y": ("number", [2310, 99.9])},
    ),
    Messy(
        "the same unit on every cell",
        _beside(
            16,
            weight=_cells(["12.5 kg", "n/a", "7 kg"], lambda row: f"{37 * row % 500 / 10} kg"),
            term=[" 36 months", " 60 months", " 12 months", " 36 months"] * 10,
        ),
        columns={"weight": ("number", [12.5, None, 7]), "term": ("number", [36, 60, 12, 36])},
    ),
    Messy(
        "spaces of three kinds between thousands",
        _beside(
            17,
            people=_cells(
                ["1\u2009234", "713\u2009935"], lambda row: f"{7919 * row % 9001 + 1000:,}".replace(",", "\u2009")
            ),
            cars=_cells(["12\xa0345", "990"], lambda row: f"{611 * row % 9001 + 1000:,}".replace(",", "\xa0")),
            tax=_cells(["1\u202f234.5", "88.25"], lambda row: f"{1733 * row % 90_001 / 8:,.2f}".replace(",", "\u202f")),
        ),
        columns={
            "people": ("number", [1234, 713935]),
            "cars": ("number", [12345, 990]),
            "tax": ("number", [1234.5, 88.25]),
        },
    ),
    Messy(
        "apostrophes between thousands",
        _beside(
            18,
            rent=_cells(["1'234.50", "980.00"], lambda row: f"{7919 * row % 400_000 / 100:,.2f}".replace(",", "'")),
            people=_cells(
                ["713\u2019935", "1\u2019200\u2019300"], lambda row: f"{7919 * row % 90_001:,}".replace(",", "\u2019")
            ),
        ),
        columns={"rent": ("number", [1234.5, 980]), "people": ("number", [713935, 1200300])},
    ),
    Messy(
        "parentheses and a long minus for negative numbers",
        _beside(
            19,
            profit=_cells(
                ["(1,234)", "2,345.50", "(17.25)"],
                lambda row: f"({7919 * row % 9000:,})" if row % 3 else f"{611 * row % 9000 + 0.5:,}",
            ),
            frost=_cells(["\u22123.5", "4.0", "\u221212"], lambda row: "\u2212" * (row % 2) + f"{37 * row % 300 / 10}"),
        ),
        columns={"profit": ("number", [-1234, 2345.5, -17.25]), "frost": ("number", [-3.5, 4, -12])},
    ),
    Messy(
        "a file in Latin-1",
        _table(
            {
                "ville": ["Orléans", "Nîmes", "Besançon", "Paris"] * 10,
                "loyer": _cells(["512,50", "1.080,00"], lambda row: _comma(400 + 37 * row % 801)),
                "y": [30 + 11 * row % 37 for row in range(ROWS)],
            },
            ";",
            "latin-1",
        ),
        columns={"ville": ("category", ["Orléans", "Nîmes", "Besançon"]), "loyer": ("number", [512.5, 1080])},
        said=(r"(?i)latin-?1|iso-?8859|cp1252|windows-1252|encoding",),
    ),
    Messy(
        "a file in UTF-16 with tabs",
        b"\xff\xfe"
        + _table(
            {
                "city": ["Zürich", "Genève", "Łódź", "Bern"] * 10,
                "rain": [f"{37 * row % 500 / 10}" for row in range(ROWS)],
                "y": [30 + 11 * row % 37 for row in range(ROWS)],
            },
            "\t",
            "utf-16-le",
        ),
        columns={"city": ("category", ["Zürich", "Genève", "Łódź"]), "rain": ("number", [0, 3.7, 7.4])},
    ),
    Messy(
        "a file in an encoding that is said",
        _table(
            {
                "city": ["Łódź", "Kraków", "Gdańsk", "Wrocław"] * 10,
                "rain": [f"{37 * row % 500 / 10}" for row in range(ROWS)],
                "y": [30 + 11 * row % 37 for row in range(ROWS)],
            },
            encoding="cp1250",
        ),
        flags=("--encoding", "cp1250"),
        columns={"city": ("category", ["Łódź", "Kraków", "Gdańsk"]), "rain": ("number", [0, 3.7, 7.4])},
    ),
    Messy(
        "nothing but commas before three digits",
        _beside_whole(23, sales=_cells(["1,234", "12,500"], lambda row: f"{7919 * row % 90_001 + 1000:,}")),
        refused=r"'sales'.*--decimal",
    ),
    Messy(
        "commas and points before three digits in one column",
        _beside_whole(
            24,
            sales=_cells(["1,234", "1.234"], lambda row: f"{7919 * row % 90_000 + 1000:,}".replace(",", ",."[row % 2])),
        ),
        refused=r"'sales'.*--decimal",
    ),
    Messy(
        "two units in one column",
        _beside(25, weight=["12 kg", "3 lb", "7 kg", "5 lb", "9 kg"] * 8),
        columns={"weight": ("category|text", ["12 kg", "3 lb"])},
        refused=r"'weight'.*(unit|number).*--as",
    ),
    Messy(
        "numbers with a few codes and ranges",
        _beside(
            41,
            beds=_cells(["3.5", "ask"], lambda row: f"{7919 * row % 300 / 10}" if row != 9 else "10-20"),
            cost=_cells(["7", "8", "POA"], lambda row: str(7 + row % 18)),
        ),
        columns={"beds": ("identifier", ["3.5", "ask"]), "cost": ("category", ["7", "8", "POA"])},
        said=(
            r"(?m)^Warning: Column 'beds' was left out: 5 % of its values \(2 of 40\) .*'ask' in line 3 .*--as beds=",
            r"(?s)\A(?!.*Warning: Column 'cost')",
        ),
    ),
    Messy(
        "numbers with a few codes, and a strict reader",
        _beside(41, beds=_cells(["3.5", "ask"], lambda row: f"{7919 * row % 300 / 10}")),
        flags=("--strict",),
        refused=r"'beds'.*'ask' in line 3.*--as",
    ),
    Messy(
        "numbers with a few codes in the target",
        _table({"size": _around(42)[0], "y": _cells(["3.5", "ask"], lambda row: f"{7919 * row % 300 / 10}")}),
        refused=r"'y'.*'ask' in line 3",
    ),
    Messy(
        "an infinite number",
        _beside(43, rate=_cells(["0.5", "inf"], lambda row: f"{7919 * row % 300 / 10}")),
        columns={"rate": ("identifier", ["0.5", "inf"])},
        said=(r"(?m)^Warning: Column 'rate' .*2.5 % .*finite.*'inf' in line 3 .*--missing",),
    ),
    Messy(
        "an infinite number that is taken as missing",
        _beside(43, rate=_cells(["0.5", "inf"], lambda row: f"{7919 * row % 300 / 10}")),
        flags=("--missing", "mark"),
        columns={"rate": ("number", [0.5, None])},
        said=(r"'rate'.*taken as missing",),
    ),
    Messy(
        "codes that stay categories",
        _beside(26, grade=["A1", "A2", "B1", "A1"] * 10, branch=["007", "012", "101", "012", "350"] * 8),
        columns={"grade": ("category", ["A1", "A2", "B1"]), "branch": ("category", ["007", "012", "101"])},
    ),
]

_TARGETS = [
    Messy("rows without a target", _gaps_in_target(), refused=r"'y'.*--missing-target drop"),
    Messy(
        "rows without a target are dropped, and those without a feature stay",
        _gaps_in_target(),
        flags=("--missing-target", "drop"),
        columns={"size": ("number", [40, 151, None]), "garden": ("category", ["no", "yes"])},
        said=(r"\b37\b", r"(?im)^(?=.*\b3\b)(?=.*(target|\by\b)).*(drop|left out)"),
    ),
    Messy(
        "NA among the labels",
        _labels_with_na(),
        columns={"size": ("number", []), "garden": ("category", ["a", "b"])},
        said=(r"(?im)^(?=.*\bNA\b).*\b(labels?|class|classes|missing)\b",),
    ),
    Messy(
        "a target that counts the rows",
        _table({"size": _around(30)[0], "garden": ["yes", "no"] * 20, "y": range(1, ROWS + 1)}),
        refused=r"(?i)'y'.*\brows?\b.*--",
    ),
    Messy(
        "a target that names the rows",
        _table(
            {"size": _around(31)[0], "garden": ["yes", "no"] * 20, "y": [f"h-{7 * row:03d}" for row in range(ROWS)]}
        ),
        refused=r"(?i)'y'.*(distinct|different|identif|names? (the )?rows)",
    ),
]

_COLUMNS = [
    Messy(
        "a column twice, and the sum of two",
        _household(),
        columns={"food": ("number", [])},
        said=(
            r"(?im)^(?=.*\brent\b)(?=.*\bhousing\b).*(same|identical|duplicate|equal|copy|copies)",
            r"(?im)^(?=.*\bspent\b)(?=.*\bfood\b)(?=.*\b(rent|housing)\b).*(\bsum\b|\+)",
        ),
    ),
    Messy(
        "a column that counts the rows",
        _beside(33, nr=range(1, ROWS + 1)),
        columns={"nr": ("identifier", [])},
        said=(r"(?im)^(?=.*\bnr\b).*(\brows?\b|count|--as)",),
    ),
    Messy(
        "a column that counts the rows, wanted as a number",
        _beside(33, nr=range(1, ROWS + 1)),
        flags=("--as", "nr=number"),
        columns={"nr": ("number", [1, 2, 3])},
    ),
    Messy(
        "two columns whose product is the target",
        _invoices(),
        columns={"price": ("number", []), "quantity": ("number", []), "shop": ("category", [])},
        said=(r"(?im)^(?=.*\bprice\b)(?=.*\bquantity\b).*leak",),
    ),
    Messy(
        "two columns whose sum is the target",
        _goals(),
        columns={"home": ("number", []), "away": ("number", [])},
        said=(r"(?im)^(?=.*\bhome\b)(?=.*\baway\b).*leak",),
    ),
]

_STRUCTURE = [
    Messy(
        "rows in the order of time",
        _sales_by_day(),
        flags=("--time", "day"),
        columns={"day": ("date", ["2021-01-04T00:00", "2021-01-05T00:00"]), "heat": ("number", [])},
        said=(r"(?i)--time\b|earlier|later|order of|in time",),
    ),
    Messy(
        "rows in groups",
        _visits(),
        flags=("--group", "patient"),
        columns={"age": ("number", []), "sex": ("category", ["f", "m", "m"])},
        said=(r"(?i)--group\b|groups? of",),
    ),
    Messy(
        "rows with weights",
        _beside(39, counted=[1 + 5 * row % 9 for row in range(ROWS)]),
        flags=("--weight", "counted"),
        columns={"counted": ("number", [1, 6, 2])},
        said=(r"(?i)--weight\b|weighted",),
    ),
    Messy(
        "a rare label, and balanced classes",
        _faults(),
        flags=("--class-weight", "balanced"),
        columns={"heat": ("number", []), "load": ("number", [])},
        said=(r"(?i)--class-weight|balanced",),
    ),
]

CASES = [*_DATES, *_NUMBERS, *_TARGETS, *_COLUMNS, *_STRUCTURE]
