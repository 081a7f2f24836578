"""A browser without a window and without a network, driven over a pipe; it tells what a page asks for and says."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Chromium listens on descriptor 3 and answers on 4; the pipes may have any numbers, these among them.
LAUNCH = """import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])"""


def found():
    """Where a browser is, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """Chromium with one page.

    Everything that goes wrong in a page is kept: `requests` for other files, `said` on the console, and `dialogs`.
    """

    def __init__(self, folder):
        there, ours = os.pipe(), os.pipe()
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--proxy-server=http://127.0.0.1:9", "--hide-scrollbars",
            f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(  # noqa: S603 - the browser that was found
            [sys.executable, "-c", LAUNCH, str(there[0]), str(ours[1]), found(), *flags],
            pass_fds=(there[0], ours[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there[0])
        os.close(ours[1])
        self.to, self.since = there[1], ours[0]
        self.number, self.buffer, self.events = 0, b"", []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(60.0)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self._keep(answer)

    def _keep(self, event):
        self.events.append(event)
        if event.get("method") == "Page.javascriptDialogOpening":  # a page waits for an answer
            self.number += 1
            close = {"id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
            os.write(self.to, json.dumps(close | {"sessionId": self.session}).encode() + b"\0")

    def _next(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.since], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self.since, 1 << 20)
            assert part, "the browser is gone"
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, *, width=1200, dark=False, media="screen"):
        """Open a file and wait until it is there."""
        self.events = []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.url = path.as_uri()
        self.call("Page.navigate", url=self.url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self._keep(self._next(60.0))
        self.ask("new Promise(done => setTimeout(done, 50))")

    def ask(self, script):
        """What a script in the page gives; the page itself may hold none."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=9)

    def _named(self, method):
        return [event["params"] for event in self.events if event.get("method") == method]

    @property
    def requests(self):
        """What was asked for besides the page itself and what is inside it."""
        asked = [params["request"]["url"] for params in self._named("Network.requestWillBeSent")]
        return [url for url in asked if url.partition("#")[0] != self.url and not url.startswith("data:")]

    @property
    def said(self):
        entries = [params["entry"]["text"] for params in self._named("Log.entryAdded")]
        return entries + [str(params) for name in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown")
                          for params in self._named(name)]  # fmt: skip

    @property
    def dialogs(self):
        return [params["message"] for params in self._named("Page.javascriptDialogOpening")]

    def close(self):
        self.session = None
        with contextlib.suppress(AssertionError, OSError):
            self.call("Browser.close")
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(20)
        os.close(self.to)
        os.close(self.since)
