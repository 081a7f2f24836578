"""A server of the page in this process, and a browser without a network, each made once."""

import http.client
import json
import shutil
import time

import pytest

from mercer.lab.server import Lab, running

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Served:
    """A running server: questions to it, and its address."""

    def __init__(self, lab, address):
        self.lab, self.address = lab, address
        self.port = int(address.split(":")[2].split("/")[0])

    def send(self, method, path, body=None, headers=None):
        """The status, the headers and the bytes of an answer; headers replace those that a page would send."""
        port = self.port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in ({"Host": f"127.0.0.1:{port}"} | (headers or {})).items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def post(self, what, body, kind="application/json", **headers):
        """The status and the answer to a question."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": kind} | {name.replace("_", "-"): value for name, value in headers.items()}
        status, told, found = self.send("POST", f"/{self.lab.token}/api/{what}", raw, sent)
        return status, json.loads(found) if told.get("content-type", "").startswith("application/json") else found

    def ask(self, what, body, **headers):
        """An answer that is none of refusal."""
        status, found = self.post(what, body, **headers)
        assert status == 200, found
        return found


@pytest.fixture(scope="session")
def served():
    lab = Lab("token-of-the-tests")
    with running(lab) as address:
        yield Served(lab, address)


@pytest.fixture(scope="session")
def browser():
    """Chromium, or a skip that says why."""
    place = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if place is None:
        pytest.skip("there is no chromium: the page of mercer lab is not opened in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # --no-sandbox: tests may run as root; every host but this machine is nowhere
        arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        found = playwright.chromium.launch(executable_path=place, args=arguments)
        yield found
        found.close()


class Watched:
    """A page, and everything that goes wrong in it."""

    def __init__(self, context, address):
        self.wrong = []
        self.page = context.new_page()
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.wrong.append(said.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda asked: self._asked(asked.url, address))
        self.address = address

    def _asked(self, url, address):
        if not url.startswith((address, "data:", "blob:")):
            self.wrong.append(f"request for {url}")

    def until(self, expression, seconds=30.0):
        """Wait until an expression holds; the page's policy lets nothing be waited for inside it."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, expression
            self.page.wait_for_timeout(20)

    def open(self, hash_=""):
        self.page.goto("about:blank")
        self.page.goto(self.address + hash_)
        self.until("document.documentElement.dataset.panels !== undefined")
        return self.settled()

    def settled(self):
        """Wait until no answer is on its way."""
        self.until("!mercerLab.busy && !mercerLab.looking && !mercerLab.loading")
        return self.page


@pytest.fixture
def watched(served, browser):
    context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    found = Watched(context, served.address)
    yield found
    context.close()
    assert found.wrong == []
