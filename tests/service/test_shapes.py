"""No request holds up others, whatever it holds; the service ends in time all the same."""

import signal
import threading
import time

import httpx2
import pytest
from tests.service.shapes import shapes
from tests.service.test_api import CALL
from tests.service.test_process import _log_of, _started, _wait_for


@pytest.mark.slow
def test_no_shape_of_a_megabyte_holds_up_others(tmp_path, monkeypatch):
    """A hundred shapes one after the other, while others ask /healthz and for small summaries."""
    monkeypatch.setenv("DIALOGIST_SERVE_DEADLINE_SECONDS", "3")
    monkeypatch.setenv("DIALOGIST_SERVE_RATE_PER_MINUTE", "1000000")
    process, address, key = _started(f"sqlite:///{tmp_path}/service.db")
    _log_of(process)
    bearer = {"Authorization": f"Bearer {key}"}
    waits, slow, over = {}, {}, threading.Event()

    def ask(method, path, body=None):
        with httpx2.Client(base_url=address, headers=bearer, timeout=60) as client:
            while not over.is_set():
                began = time.monotonic()
                status = client.request(method, path, json=body).status_code
                waits.setdefault(path, []).append((status, time.monotonic() - began))
                time.sleep(0.02)

    others = [("GET", "/healthz"), ("POST", "/v1/summaries", CALL)]
    try:
        with httpx2.Client(base_url=address, headers=bearer, timeout=60) as client:
            _wait_for(client)
            threads = [threading.Thread(target=ask, args=other) for other in others]
            for thread in threads:
                thread.start()
            for name, (path, headers, body) in shapes():
                waits.clear()
                reply = client.post(path, content=body, headers=headers)
                while len(waits) < len(others) or min(map(len, waits.values())) < 2:
                    time.sleep(0.01)
                told = [
                    (status, round(took, 2)) for each in waits.values() for status, took in each
                ]
                bad = [one for one in told if one[0] != 200 or one[1] > 1]
                if bad or reply.status_code == 500:
                    slow[name] = [reply.status_code, *bad]
            over.set()
            for thread in threads:
                thread.join()
            path, headers, body = dict(shapes())["colons"]
            with pytest.raises(httpx2.TimeoutException):  # a client that leaves
                client.post(path, content=body, headers=headers, timeout=0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    finally:
        over.set()
        process.kill()
    assert slow == {}
