"""Model files and checkpoints changed at random, most with their digests made good again to try the parser itself."""

import copy
import json

import numpy as np

from mercer.errors import InputError
from mercer.models.records import read_stamp, written
from mercer.runtime.container import CODES, DTYPES, VERSION, Checkpoint, digest_of, dumps, packed, sealed

STRANGE = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**62, -(2**62), 0.0, -0.0, 1.5, -3.0, 1e-320, 1e308, "", "x", "inf",
    "os.system", "Gaussian", "KernelRidge", "AutoRegressor", "__class__", "primal", "\ud800", [], [[]], {},
    {"is": "float", "of": "nan"}, {"is": "float", "of": "inf"}, {"is": "tuple", "of": []},
    {"is": "dict", "of": [[{"is": "set", "of": []}, 1]]}, {"is": "kernel", "class": "Linear", "with": {}},
    {"is": "kernel", "class": "Custom", "with": {"function": "len"}}, {"is": "import", "of": "os"}, [0] * 50, "a" * 300,
    {"is": "model", "class": "KernelRidge", "params": {}, "fitted": {}},
    {"is": "part", "class": "StoredFolds", "with": {"n": 2**40, "label": "", "numbers": []}},
]  # fmt: skip
LETTERS = b'{}[]",:0123456789.eE+-\\ \x00\xffnulltruefalseis'


def split(data):
    """The header, the record, and the arrays by name."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    record = json.loads(header.pop("__metadata__")["mercer"])["record"]
    body = data[8 + length :]
    arrays = {}
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        arrays[name] = np.frombuffer(body[start:stop], dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    return data[8 : 8 + length], record, arrays


def kind_of(data):
    """Whether this is a "model" or a "checkpoint"."""
    return "checkpoint" if b'kind\\":\\"checkpoint' in data[:200] else "model"


def joined(record, arrays, kind="model"):
    """A file from its parts."""
    return packed(dumps(record), arrays, kind)


def resealed(header, body):
    """A file whose header was changed, with its length and its digest made good."""
    header = header.rstrip(b" ")
    header += b" " * (-len(header) % 8)
    whole = len(header).to_bytes(8, "little") + header + body
    try:
        return sealed(whole)
    except ValueError:
        return whole


def renamed(record, arrays, name, array, kind="model"):
    """The same file with another array in the place of one."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    fresh = digest_of(array) if kind == "model" else name
    changed = {fresh if key == name else key: array if key == name else value for key, value in arrays.items()}
    return joined(json.loads(dumps(record).replace(name, fresh)), changed, kind)


def in_the_text(rng, data):
    """Bytes of the header changed, left out or added."""
    header, _, _ = split(data)
    body, header = data[8 + len(header) :], bytearray(header)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(header)))
        match rng.integers(4):
            case 0:
                header[place] = int(rng.integers(256))
            case 1:
                header[place] = LETTERS[rng.integers(len(LETTERS))]
            case 2:
                del header[place : place + int(rng.integers(1, 12))]
            case _:
                header[place:place] = bytes(rng.choice(list(LETTERS), size=int(rng.integers(1, 6))).tolist())
    return resealed(bytes(header), body)


def in_an_array(rng, data):
    """Bytes of an array, its type or its shape."""
    _, record, arrays = split(data)
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name].copy()
    match rng.integers(4):
        case 0 if array.size:
            flat = array.reshape(-1).view(np.uint8)
            flat[rng.integers(len(flat))] = rng.integers(256)
        case 1 if array.dtype == np.float64 and array.size:
            array.reshape(-1)[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300])
        case 2:
            array = array.reshape(rng.permutation(list(array.shape)))
        case _:
            types = [t for t in CODES if t.itemsize == array.dtype.itemsize]
            array = array.view(types[rng.integers(len(types))])
    return renamed(record, arrays, name, array, kind_of(data))


def nodes(value, path=()):
    """Every place in some JSON."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from nodes(item, (*path, key))


def in_the_record(rng, data):
    """A value of the record replaced, left out, or put where another belongs."""
    _, record, arrays = split(data)
    paths = [path for path in nodes(record) if path]
    for _ in range(rng.integers(1, 3)):
        path, other = (paths[rng.integers(len(paths))] for _ in range(2))
        holder, source = record, record
        try:
            for key in path[:-1]:
                holder = holder[key]
            for key in other:
                source = source[key]
            if isinstance(holder, dict) and not isinstance(path[-1], str):
                continue  # a list that an object has replaced: JSON has no numbers as keys
            match rng.integers(4):
                case 0:
                    del holder[path[-1]]
                case 1:
                    holder[path[-1]] = copy.deepcopy(source)
                case 2 if isinstance(holder, dict):
                    holder[["extra", "is", "fit", "__dict__"][rng.integers(4)]] = holder.pop(path[-1])
                case _:
                    holder[path[-1]] = copy.deepcopy(STRANGE[rng.integers(len(STRANGE))])
        except (LookupError, TypeError):
            continue
    return joined(record, arrays, kind_of(data))


def mutant(rng, data):
    """One of the three."""
    return (in_the_text, in_an_array, in_the_record)[rng.integers(3)](rng, data)


def damaged(rng, data):
    """Bytes changed, cut off, left out, doubled or added, and the digests left as they were."""
    found, place = bytearray(data), int(rng.integers(len(data)))
    match rng.integers(5):
        case 0:
            found[place] ^= 1 << int(rng.integers(8))
        case 1:
            del found[place:]
        case 2:
            del found[place : place + int(rng.integers(1, 100))]
        case 3:
            found[place:place] = data[place : place + int(rng.integers(1, 100))]
        case _:
            size = int(rng.choice([1, 8, 64]))
            found[place : place + size] = rng.bytes(size)
    return bytes(found)


def small_checkpoints(rng, folder):
    """Checkpoints of a search and of a pass: path, fingerprint, arrays."""
    table = {"scores": rng.normal(size=(3, 4, 5, 1)), "refits": rng.integers(9, size=(3, 4)), "pooled": np.ones((3, 4))}
    table |= {"condition": np.ones((3, 4)), "finished": np.array([True, True, False])}
    sums = {"next row": np.array(700), "state rows": np.zeros(10), "state train0": rng.normal(size=(10, 6, 6))}
    found = [(folder / "search", "a" * 64, table), (folder / "sums", "b" * 64, sums)]
    for path, mark, arrays in found:
        Checkpoint(path, mark).save(arrays)
    return found


def load_damaged(checkpoint, data, like):
    """What becomes of a damaged checkpoint: refused, or loaded, and then written again it has the same arrays."""
    path, original, said = checkpoint.path, checkpoint.path.read_bytes(), ""
    path.write_bytes(data)
    try:
        checkpoint.save(checkpoint.load(like))
        assert same_content(path.read_bytes(), data), "a checkpoint that is not what its file says"
    except InputError as problem:
        said = str(problem)
    finally:
        path.write_bytes(original)
    if not said:
        return "unchanged" if data == original else "what the file says"
    ends = (" Delete it, or use another file.", f" reads up to {VERSION}. Update mercer.")
    whole = said.startswith(f"The checkpoint {path} ") and said.endswith(ends)
    assert whole, said
    assert "\n" not in said
    return "refused"


def same_content(one, other):
    """Whether two files have the same record and the same arrays, to the last bit."""
    (_, record, arrays), (_, another, others) = split(one), split(other)
    return dumps(record) == dumps(another) and {n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()} == {
        n: (a.dtype, a.shape, a.tobytes()) for n, a in others.items()
    }


def written_again(model, data):
    """The file that a loaded model would be, with the stamp of the file that it came from."""
    _, record, _ = split(data)
    return packed(*written(model, read_stamp(record)))
