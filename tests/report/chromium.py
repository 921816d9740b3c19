"""A headless Chromium, driven over its debugging pipe: enough to load a page, ask it things and listen.

The pipe (file descriptors 3 and 4, messages of JSON ended by a null byte) needs no port and no package.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE_S = 60.0


def find() -> str:
    """Path of a Chromium; the test fails, with what to install, when there is none."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    pytest.fail(f"no browser for the report's tests (looked for {', '.join(NAMES)}); apt-get install chromium")


class Browser:
    """One page of one Chromium with an empty profile. A context manager."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._pending = b""
        self.events: list[dict[str, Any]] = []
        self._profile = tempfile.TemporaryDirectory(prefix="report-browser-", ignore_cleanup_errors=True)
        (to_read, self._to), (self._from, to_write) = os.pipe(), os.pipe()
        # The child's 3 and 4 are set by the shell, which is the same on every system that has one.
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", command, find(), *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        pages = [t for t in self._send("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self._session = None
        self._session = self._send("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")
        self._send("Performance.enable", timeDomain="threadTicks")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "") -> None:
        """Load a file at this window size and mode, and wait until it has run."""
        self.events.clear()
        phone = width < 600
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self._send("Emulation.setEmulatedMedia", media=media, features=[scheme, still])
        self._send("Page.navigate", url="about:blank")
        self._wait("Page.loadEventFired")
        self.events.clear()
        self._send("Page.navigate", url=page.as_uri())
        self._wait("Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression, which may be a promise."""
        answer = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, uncaught exceptions, and refusals by the page's policy."""
        told = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                told.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                told.append(str(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                told.append(params["entry"]["text"])
        return told

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def press(self, key: str, code: int) -> None:
        """One key, as from a keyboard."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self._send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def accessibility(self) -> list[tuple[str, str]]:
        """Role and name of everything that a screen reader meets."""
        nodes = self._send("Accessibility.getFullAXTree")["nodes"]
        shown = [n for n in nodes if not n["ignored"]]
        return [(n["role"]["value"], str(n.get("name", {}).get("value", ""))) for n in shown]

    def cpu_s(self) -> float:
        """Processor time that the page's main thread has spent."""
        metrics = self._send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def scripts(self, run: bool) -> None:
        """Whether pages loaded from now on may run scripts."""
        self._send("Emulation.setScriptExecutionDisabled", value=not run)

    def picture(self, path: Path, *, full: bool = False) -> None:
        """A screenshot as PNG, for people."""
        shot = self._send("Page.captureScreenshot", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def _wait(self, method: str) -> None:
        while not any(e["method"] == method for e in self.events):
            event = self._receive()
            if "method" in event:
                self.events.append(event)

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._from, 1 << 20) if ready else b""
            if not data:
                state = "ended" if self._process.poll() is not None else f"said nothing for {PATIENCE_S:.0f} s"
                raise AssertionError(f"the browser {state}; start it by hand: {find()} --headless --no-sandbox")
            self._pending += data
        message, _, self._pending = self._pending.partition(b"\0")
        return json.loads(message)
