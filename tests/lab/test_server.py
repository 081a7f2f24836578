"""The server in front of hostile requests: refused or harmless, and alive afterwards."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn

from mercer.errors import InputError, MercerError
from mercer.lab.server import FILES, bound, serve

pytestmark = pytest.mark.xdist_group("lab")
POINTS = {"x": [[0.0], [1.0], [2.0]], "y": [0.0, 1.0, 0.0]}
FIT = {"points": POINTS, "kernel": "Gaussian(1)", "alpha": 0.1, "at": [[0.5]]}


def alive(served):
    return served.ask("fit", FIT)["degrees"] > 0


def test_the_page_and_its_files_are_there_with_a_strict_policy(served):
    for name in FILES:
        status, headers, body = served.send("GET", f"/{served.lab.token}/{name}")
        assert status == 200, name
        assert body
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        for outside in (b"http://", b"https://"):
            assert outside not in body.replace(b"http://www.w3.org/2000/svg", b"")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"}, {"Host": "127.0.0.1"}, {"Host": "127.0.0.1:1"}, {"Host": ""},
        {"Host": "localhost.:80"},
        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    ],
)  # fmt: skip
def test_forged_hosts_and_origins_are_refused(served, headers):
    for method, path in (("GET", f"/{served.lab.token}/"), ("POST", f"/{served.lab.token}/api/fit")):
        status, told, _ = served.send(method, path, b"{}", {"content-type": "application/json"} | headers)
        assert status in (400, 403)
        assert status == 400 or "content-security-policy" in told
    assert alive(served)


def test_two_hosts_are_refused(served):
    port = served.port
    status, _, _ = served.send("GET", f"/{served.lab.token}/", None, {"host": f"127.0.0.1:{port}", "Host": "evil"})
    assert status in (400, 403)


@pytest.mark.parametrize("token", ["", "x", "token-of-the-test", "token-of-the-tests2", "TOKEN-OF-THE-TESTS", "%00"])
def test_without_the_token_there_is_nothing(served, token):
    for path in (f"/{token}/", f"/{token}/app.js", f"/{token}/api/fit", "/", "/app.js", "/api/fit"):
        assert served.send("GET", path)[0] in (400, 404, 405)
        assert served.send("POST", path, b"{}", {"content-type": "application/json"})[0] in (400, 404, 405)


ENDS = ((1, "server.py"), (2, "__init__.py"), (3, "etc/passwd"), (6, "etc/passwd"), (8, "etc/passwd%00.js"))
TRAVERSALS = [
    prefix + "/".join([step] * depth) + "/" + end
    for prefix in ("", "page/")
    for step in ("..", "%2e%2e", "..%2f", "%252e%252e", "..\\")
    for depth, end in ENDS
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_paths_lead_nowhere_else(served, path):
    assert len(TRAVERSALS) == 50
    for begin in (f"/{served.lab.token}/", f"/{served.lab.token}/api/", "/"):
        status, _, body = served.send("GET", begin + path)
        assert status in (400, 403, 404, 405)
        assert b"root:" not in body
        assert b"import" not in body


def test_requests_of_the_wrong_kind_are_refused(served):
    assert served.post("fit", FIT, kind="text/plain")[0] == 415
    assert served.post("table", b"a,b\n1,2\n", kind="application/json")[0] == 415
    assert served.post("nothing", {})[0] == 404
    for body in (b"", b"{", b"[]", b"\xff\xfe", b'"text"', b"[" * 100_000, b'{"points":' * 50_000):
        status, found = served.post("fit", body)
        assert status == 200
        assert found["error"].startswith(("The request", "points"))
    odd = b'{"alpha": NaN, "points": {"x": [[1e999], [1]], "y": [1, 2]}, "kernel": "Linear()"}'
    _, found = served.post("fit", odd)
    assert "error" in found
    assert served.send("PUT", f"/{served.lab.token}/api/fit", b"{}")[0] == 405
    assert alive(served)


def test_a_table_that_is_one_byte_too_large_is_refused(served):
    too_large = b"a,b\n" + b"1,2\n" * 4_999_999 + b"1"
    assert len(too_large) == 20_000_001
    status, found = served.post("table", too_large, kind="application/octet-stream")
    assert status == 413
    assert found["error"].startswith("This is too large")
    assert served.post("fit", b" " * 2_000_001)[0] == 413
    assert alive(served)


HOSTILE = [
    "<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "__proto__", "constructor", "toString", "a\tb",
    "=cmd|' /C calc'!A0", "a" * 5000, "\u202eevil", "\U0001f4a5", "${7*7}", "{{7*7}}", "a;b", "'; DROP TABLE x; --",
    "\\u0000", "%s%n", "null", "NaN", "hasOwnProperty", "../../etc/passwd",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_columns_are_names(served, name):
    assert len(HOSTILE) == 20
    quoted = '"' + name.replace('"', '""') + '"'
    raw = (f"{quoted},x\n" + "\n".join(f"{i},{i * i % 7}" for i in range(20))).encode()
    status, found = served.post("table", raw, kind="application/octet-stream", x_name="..%2F..%2Fetc%2Fpasswd")
    assert status == 200
    if "error" not in found:
        assert found["name"] == "passwd"
        assert found["columns"][0].split() == name.split()
        points = served.ask("columns", {"key": found["key"], "axes": [found["columns"][0]], "target": "x"})
        assert len(points["y"]) == 20


@pytest.mark.slow
def test_a_thousand_quick_requests_leave_the_server_alive_and_small(served):
    statuses, size = [], Path("/proc/self/statm")

    def many():
        statuses.extend(served.post("kernel", {"kernel": "Gaussian(1) + Linear()"})[0] for _ in range(50))

    def memory():
        return int(size.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if size.exists() else 0

    before = memory()
    threads = [threading.Thread(target=many) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(statuses) == 1000
    assert set(statuses) <= {200, 503}
    assert alive(served)
    assert memory() - before < 300e6


def test_a_port_in_use_is_said(served):
    port = served.port
    with pytest.raises(InputError, match=f"Port {port} is in use. Choose another one."):
        bound(port)


ODD = [
    ("fit", {"alpha": 10**400}),
    ("fit", {"kernel": ""}),
    ("fit", {"kernel": "linear() ** " + "9" * 500}),
    ("fit", {"kernel": "+".join(["linear()"] * 50)}),
    ("fit", {"kernel": "gaussian(width=1e-300)"}),
    ("fit", {"kernel": "precomputed()"}),
    ("fit", {"points": {"x": ["a" * 100, "b"], "y": [1, 2]}}),
    ("without", {"at": [], "row": 1}),
    ("draws", {"at": [], "draws": [[0.0, 1.0, 0.0]]}),
    ("export", {"what": []}),
    ("export", {"what": "other"}),
    ("columns", {"key": {}}),
    ("progress", {}),
    ("search", {"points": None}),
]


@pytest.mark.parametrize(("what", "change"), ODD)
def test_odd_questions_are_answered_in_words_or_numbers(served, what, change):
    status, found = served.post(what, FIT | change)
    assert status == 200
    assert isinstance(found, dict)
    assert "Traceback" not in str(found)
    assert alive(served)


def test_a_client_that_leaves_and_one_that_never_ends_do_no_harm(served):
    port = served.port
    head = f"POST /{served.lab.token}/api/fit HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(70)]
    for each in slow:
        each.sendall(f"{head}Content-Length: 500\r\n\r\n{{".encode())
    assert alive(served)
    for each in slow:
        each.close()
    assert alive(served)


HALVES = {
    "nothing": "",
    "half a head": "GET /{token}/ HTTP/1.1\r\nHost: ",
    "a request and half a head": "GET /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\nGET /",
    "a request without its body": "GET /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9\r\n\r\n{{",
}


@pytest.mark.parametrize("half", HALVES)
def test_a_request_of_which_only_a_part_comes_is_given_up(served, monkeypatch, half):
    monkeypatch.setattr("mercer.lab.server._PATIENCE", 0.1)
    with socket.create_connection(("127.0.0.1", served.port), timeout=3) as client:
        client.sendall(HALVES[half].format(token=served.lab.token, port=served.port).encode())
        found = b""
        while piece := client.recv(65536):  # until the server closes the connection
            found += piece
    assert found.startswith(b"HTTP/1.1 200") == half.startswith("a request")
    assert alive(served)


def test_no_more_than_two_tables_are_held_until_they_are_read(served, monkeypatch):
    reading, go_on = threading.Semaphore(0), threading.Event()

    def read(raw, name):
        reading.release()
        go_on.wait(10)
        raise InputError(name)

    monkeypatch.setattr(served.lab.uploads, "read", read)
    sent = {"kind": "application/octet-stream"}
    with ThreadPoolExecutor(2) as pool:
        held = [pool.submit(served.post, "table", b"a,b\n1,2\n", **sent) for _ in range(2)]
        try:
            for _ in held:
                assert reading.acquire(timeout=10)
            assert served.post("table", b"a,b\n1,2\n", **sent)[0] == 503
        finally:
            go_on.set()
        assert [future.result()[0] for future in held] == [200, 200]
    assert served.post("table", b"a,b\n1,2\n", **sent)[0] == 200


def ended(process):
    """The exit code of a process that was asked to end; None, and it is killed, where it does not."""
    try:
        return process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        return None


COMMAND = [sys.executable, "-c", "from mercer.cli import main; main()", "lab", "--no-browser"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_command_leaves_no_folder_when_it_is_asked_to_end(tmp_path, name):
    variables = os.environ | {"TMPDIR": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(COMMAND, env=variables, **pipes) as process:  # noqa: S603
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(getattr(signal, name))
        assert ended(process) == 0
        assert process.stdout.read().splitlines()[-1] == "Stopped."
        assert process.stderr.read() == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_the_command_serves_until_it_is_interrupted(tmp_path, busy):
    table = tmp_path / "flats.csv"
    table.write_text("area,rent\n" + "\n".join(f"{40 + i},{500 + 11 * i}" for i in range(30)))
    opened = []
    with subprocess.Popen([*COMMAND, str(table)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert len(address.rstrip("/").rpartition("/")[2]) >= 20
        if busy:
            found = urlsplit(address)
            X = [[float(i)] for i in range(300)]
            points = {"x": X, "y": [float(i % 7) for i in range(300)]}
            asked = FIT | {"points": points, "kernel": " + ".join(["gaussian(1)"] * 6)}
            for what in ("search", "surface", "surface", "surface", "surface"):
                connection = http.client.HTTPConnection(found.hostname, found.port, timeout=30)
                opened.append(connection)
                kind = {"content-type": "application/json"}
                connection.request("POST", f"{found.path}api/{what}", json.dumps(asked), kind)
                if what == "search":
                    connection.getresponse().read()
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert ended(process) == 0
        assert time.monotonic() - begin < 6
        assert process.stdout.read().splitlines()[-1] == "Stopped."
        assert process.stderr.read() == ""
    for connection in opened:
        connection.close()


def test_a_server_that_ends_by_itself_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    with pytest.raises(MercerError, match="ended by itself"):
        serve(None, 0, browser=False, say=lambda _: None)
