#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Metrics over HTTP: a real Prometheus scrapes a router between kernels; slow and hostile clients; listeners change."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import machine, tap  # noqa: E402
from lib.build import SLOWDOWN  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import BUILD, LONG, PROGRAM  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, cabled, ping, reload, rewrite, start  # noqa: E402

LISTEN = "127.0.0.1:9417"
ROUTES = 1_000_000 if LONG else 100_000
CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
OPEN = "application/openmetrics-text; version=1.0.0"
CONNECTIONS, HEADER_BYTES, IDLE_S, LIFETIME_S = 32, 16384, 5, 15  # observe/http_server.hpp


def connected(host, at=("127.0.0.1", 9417)):
    with host.inside():
        s = socket.socket(socket.AF_INET6 if ":" in at[0] else socket.AF_INET)
    s.settimeout(10)
    s.connect(at)
    return s


def fetched(s, path="/metrics", method="GET", **headers):
    """(status, headers, body) of one request on a connected socket."""
    lines = [f"{method} {path} HTTP/1.1", "Host: turnpike"] + [f"{k}: {v}" for k, v in headers.items()]
    s.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    answer = http.client.HTTPResponse(s, method=method)
    answer.begin()
    body = answer.read().decode()
    s.close()
    return answer.status, dict(answer.getheaders()), body


def get(host, *arguments, **more):
    status, headers, body = fetched(connected(host), *arguments, **more)
    assert status == 200, (status, body)
    return headers, body


def samples(body):
    """{name{labels}: value}"""
    lines = [line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#")]
    assert len({key for key, _ in lines}) == len(lines), "a series is there twice"
    return {key: float(value) for key, value in lines}


def test_prometheus_scrapes_what_show_shows():
    if shutil.which("prometheus") is None:
        tap.skip("prometheus is not installed")
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = os.path.join(folder, "control.sock")
        running = start(lab, dut, control={"socket": path}, metrics={"listen": LISTEN}, latency={"sample": 1})
        ping(west, EAST[0])
        config = {"global": {"scrape_interval": "500ms", "scrape_timeout": "400ms"},
                  "scrape_configs": [{"job_name": "turnpike", "static_configs": [{"targets": [LISTEN]}]}]}
        with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(yaml.safe_dump(config))
        log = open(os.path.join(folder, "log"), "w", encoding="utf-8")
        prometheus = dut.start(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                "--web.listen-address=127.0.0.1:9090"], stdout=log, stderr=log)
        log.close()

        def query(expression):
            try:
                s = connected(dut, ("127.0.0.1", 9090))
            except ConnectionRefusedError:
                return None
            status, _headers, body = fetched(s, "/api/v1/query?query=" + expression.replace(" ", "%20").replace('"', "%22"))
            return json.loads(body)["data"]["result"] if status == 200 else None

        # Two scrapes that Prometheus accepted.
        wait_until(lambda: [r for r in query("count_over_time(up[1h])") or [] if int(r["value"][1]) >= 2],
                   lambda: open(os.path.join(folder, "log"), encoding="utf-8").read(), 60)
        up = query("up")
        assert [r["value"][1] for r in up] == ["1"], up
        ping(west, EAST[0])
        operator = Operator(path)

        def agree():
            shown = {p["name"]: p["rx_packets"] for p in operator.show("ports")["ports"]}
            stored = {r["metric"]["port"]: int(r["value"][1]) for r in query("turnpike_port_rx_packets_total")}
            return shown == stored and min(shown.values()) >= 6

        wait_until(agree, "Prometheus has the counters of show", 20)
        types = json.loads(fetched(connected(dut, ("127.0.0.1", 9090)), "/api/v1/metadata")[2])["data"]
        assert types["turnpike_worker_rx_burst_packets"][0]["type"] == "histogram", types
        assert types["turnpike_interface"][0]["type"] == "info" and types["turnpike_port_rx_bytes"][0]["unit"] == "bytes", types
        assert types["turnpike_latency_seconds"][0]["type"] == "histogram", types
        for pair in operator.show("latency")["latency"]:
            assert 0 < pair["p50_ns"] <= pair["p99_ns"] <= pair["p999_ns"] <= pair["max_ns"], pair
        assert len(operator.show("latency")["latency"]) >= 2
        total = query("sum(turnpike_port_rx_packets_total) - sum(turnpike_balance_rx_packets_total)")
        assert total[0]["value"][1] == "0", total
        prometheus.send_signal(signal.SIGTERM)
        prometheus.wait(20)
        running.stop()


def test_formats_and_pages():
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        running = start(lab, dut, metrics={"listen": LISTEN}, latency={"sample": 1})
        ping(west, EAST[0])
        ping(west, EAST[0])  # packets that wait for their neighbour are no samples
        headers, body = get(dut)
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", headers
        assert headers["Connection"] == "close", headers
        assert "# TYPE turnpike_port_rx_packets_total counter" in body and "# EOF" not in body
        value = samples(body)
        assert value['turnpike_interface_up{interface="west"}'] == 1
        assert value['turnpike_fib_routes{vrf="main",family="ipv4"}'] > 2, body
        for pair in ('{in="west",out="east"}', '{in="east",out="west"}'):
            assert value[f"turnpike_latency_seconds_count{pair}"] > 0, body
            assert 0 < value[f"turnpike_latency_seconds_sum{pair}"] < 10, body
        assert value["turnpike_process_gather_seconds"] < 0.05 * SLOWDOWN
        headers, body = get(dut, Accept=f"{OPEN};q=0.6,text/plain;version=0.0.4;q=0.5")
        assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"), headers
        assert "# TYPE turnpike_port_rx_packets counter" in body and body.endswith("# EOF\n")
        headers, body = get(dut, Accept=f"{OPEN};q=0.2,text/plain;q=0.5")
        assert headers["Content-Type"].startswith("text/plain"), headers
        headers, body = get(dut, "/")
        assert '<h1>turnpike ' in body and headers["Content-Type"].startswith("text/html"), body
        assert fetched(connected(dut), "/metrics", "HEAD")[0] == 200
        assert fetched(connected(dut), "/none")[0] == 404
        status, headers, _body = fetched(connected(dut), "/metrics", "POST", **{"Content-Length": "0"})
        assert status == 405 and headers["Allow"] == "GET, HEAD", headers
        running.stop()


@tap.limit(180)
def test_slow_and_hostile_clients():
    """Each is closed in a bounded time, and packets go on meanwhile, none lost; a collector is served afterwards."""
    with Lab() as lab:
        west, dut, _east = cabled(lab)
        running = start(lab, dut, metrics={"listen": LISTEN})
        ping(west, EAST[0])
        steady = west.start("ping -n -i 0.05 -c 500 -W 1 " + EAST[0], stdout=subprocess.PIPE, text=True)
        # Bytes that are no request.
        for garbage in (b"\0" * 100, b"\xff\xfe GET\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n",
                        b"GET " + b"/" * 30000, os.urandom(5000)):
            s = connected(dut)
            with contextlib.suppress(OSError):  # a connection that the server has closed already
                s.sendall(garbage)
                s.shutdown(socket.SHUT_WR)
                s.recv(65536)
            s.close()
        # Headers without an end.
        s, sent = connected(dut), 0
        with contextlib.suppress(ConnectionError, socket.timeout):
            s.sendall(b"GET /metrics HTTP/1.1\r\n")
            while sent < 100 * HEADER_BYTES:
                sent += s.send(b"X-%d: " % sent + b"a" * 1000 + b"\r\n")
        s.settimeout(10)
        answer = b""
        with contextlib.suppress(ConnectionError):
            answer = s.recv(65536)
        assert answer == b"" or b" 431 " in answer or b" 413 " in answer or b" 400 " in answer, answer[:200]
        s.close()
        # A byte a second: the time between two bytes is short, but the connection's lifetime is bounded.
        slow, begun = connected(dut), time.monotonic()
        closed = None
        for byte in b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 100:
            try:
                slow.sendall(bytes([byte]))
                slow.settimeout(1)
                if slow.recv(100) == b"":
                    closed = time.monotonic() - begun
                    break
            except socket.timeout:
                continue
            except ConnectionError:
                closed = time.monotonic() - begun
                break
        assert closed is not None and LIFETIME_S - 1 < closed < LIFETIME_S + 5, closed
        # Connections that say nothing fill the server; after the idle time there is room again.
        idle = []
        for _ in range(3 * CONNECTIONS):
            idle.append(connected(dut))
        wait_until(lambda: answered(dut), "idle connections are closed", 4 * IDLE_S)
        for s in idle:
            s.close()
        # Collectors that do not read their answer.
        deaf = [connected(dut) for _ in range(CONNECTIONS // 2)]
        for s in deaf:
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answered(dut)
        for s in deaf:
            s.close()
        # Many at once.
        failures = []

        def many():
            for _ in range(50):
                try:
                    get(dut)
                except (OSError, http.client.HTTPException, AssertionError) as failure:
                    failures.append(failure)

        inside = [threading.Thread(target=many) for _ in range(4)]
        for thread in inside:
            thread.start()
        for thread in inside:
            thread.join()
        assert not failures, failures[:3]
        out, _ = steady.communicate(timeout=60)
        assert " 0% packet loss" in out, out
        running.stop()


def answered(host):
    try:
        return get(host)
    except (OSError, http.client.HTTPException):
        return None


def test_listeners_change_while_it_runs():
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        _west, dut, _east = cabled(lab)
        dut.run("sysctl -qw net.ipv6.conf.lo.disable_ipv6=0")
        dut.run("ip addr replace ::1/128 dev lo")
        control, path = os.path.join(folder, "control.sock"), os.path.join(folder, "metrics.sock")
        running = start(lab, dut, control={"socket": control}, metrics={"listen": LISTEN})
        operator = Operator(control)
        get(dut)
        # One that is there stays, with a request that waits in it; others are added.
        waiting = connected(dut)
        waiting.sendall(b"GET /metrics HTTP/1.1\r\n")
        rewrite(running, lambda c: c.update(metrics={"listen": [LISTEN, "[::1]:9500", "unix:" + path]}))
        waiting.sendall(b"Host: x\r\n\r\n")
        assert waiting.recv(100).startswith(b"HTTP/1.1 200"), "the connection survived"
        assert fetched(connected(dut, ("::1", 9500)))[0] == 200
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        assert fetched(s)[0] == 200
        assert "unix:" + path in operator.result("configuration")["text"]
        # An address that the machine gets later.
        rewrite(running, lambda c: c.update(metrics={"listen": [LISTEN, "[::1]:9500", "unix:" + path, "198.51.100.7:9501", "[2001:db8::7]:9501"]}))
        dut.run("ip address add 198.51.100.7/32 dev lo")
        dut.run("ip address add 2001:db8::7/128 dev lo")
        assert [fetched(connected(dut, (a, 9501)))[0] for a in ("198.51.100.7", "2001:db8::7")] == [200, 200]
        # A port in use refuses the whole change, by place; the listeners before it stay.
        with dut.inside():
            other = socket.create_server(("127.0.0.1", 9600))
        said = rewrite(running, lambda c: c.update(metrics={"listen": ["127.0.0.1:9600", "127.0.0.1:9601"]}))
        assert "metrics.listen: 127.0.0.1:9600: cannot be listened on" in said and "turnpike.yaml:" in said, said
        assert fetched(connected(dut, ("::1", 9500)))[0] == 200
        try:
            connected(dut, ("127.0.0.1", 9601))
            raise AssertionError("a refused change left a listener")
        except ConnectionRefusedError:
            pass
        other.close()
        # By command; none closes all, and removes the file.
        ctl = [CTL, "--socket", control, "set", "metrics.listen"]
        subprocess.run([*ctl, "127.0.0.1:9601"], check=True, timeout=30, stdout=subprocess.DEVNULL)
        assert fetched(connected(dut, ("127.0.0.1", 9601)))[0] == 200
        assert not os.path.exists(path)
        # All addresses need the port of the one: the remedy is named, and it helps.
        wider = subprocess.run([*ctl, "0.0.0.0:9601"], timeout=30, capture_output=True, text=True, check=False)
        assert wider.returncode != 0 and "listener 127.0.0.1:9601 has the port" in wider.stderr, wider
        assert "set metrics.listen none" in wider.stderr, wider
        for listen in ("none", "0.0.0.0:9601"):
            subprocess.run([*ctl, listen], check=True, timeout=30, stdout=subprocess.DEVNULL)
        assert fetched(connected(dut, ("127.0.0.1", 9601)))[0] == 200
        both = subprocess.run([*ctl, "0.0.0.0:9602,127.0.0.1:9602"], timeout=30, capture_output=True, text=True, check=False)
        assert "0.0.0.0:9602 of the same list overlaps it" in both.stderr, both
        subprocess.run([*ctl, "none"], check=True, timeout=30, stdout=subprocess.DEVNULL)
        try:
            connected(dut, ("127.0.0.1", 9601))
            raise AssertionError("it listens still")
        except ConnectionRefusedError:
            pass
        assert "metrics" not in operator.result("configuration")["text"]
        # The file of the refused change, now that the port is free.
        assert "settings changed" in reload(running)
        assert fetched(connected(dut, ("127.0.0.1", 9600)))[0] == 200
        running.stop()


def test_bad_input_is_refused_by_place():
    with tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        file = os.path.join(folder, "f.yaml")
        base = "ports:\n  - {name: west, device: net_null0, addresses: [10.0.1.1/24]}\n"
        for listen, complaint in (
                ("localhost:9417", "metrics.listen is 'localhost:9417'; an address to listen on is ADDRESS:PORT"),
                ("127.0.0.1", "an address to listen on is"), ("127.0.0.1:0", "an address to listen on is"),
                ("127.0.0.1:65536", "an address to listen on is"), ("'::1:9417'", "an address to listen on is"),
                ("'[127.0.0.1]:9417'", "an address to listen on is"), ("224.0.0.1:9417", "an address to listen on is"),
                ("unix:metrics.sock", "should have a whole path after unix:"),
                ("unix:/" + "a" * 107, "of at most 107 characters"),
                ("['127.0.0.1:9417', '127.0.0.1:9417']", "names 127.0.0.1:9417 twice"),
                ("[" + ", ".join(f"'127.0.0.1:{n}'" for n in range(9000, 9009)) + "]", "names 9 addresses; at most 8")):
            with open(file, "w", encoding="utf-8") as out:
                out.write(f"{base}metrics: {{listen: {listen}}}\n")
            done = subprocess.run([PROGRAM, "--check", "--config", file], capture_output=True, text=True, check=False, timeout=30)
            assert done.returncode == 2, (listen, done.stderr)
            assert f"{file}:3: metrics.listen" in done.stderr and complaint in done.stderr, done.stderr


@tap.limit(240)
def test_scrape_of_a_router_with_many_routes():
    """100,000 routes (--long: a million): a scrape takes less than 50 ms."""
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        _west, dut, _east = cabled(lab)
        routes = os.path.join(folder, "full.routes")
        with open(routes, "w", encoding="utf-8") as file:
            for i in range(ROUTES):
                file.write(f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24 via {EAST[0]}\n")
        running = start(lab, dut, [{"file": routes}], metrics={"listen": LISTEN}, wait=False)
        running.wait_for("turnpike: forwarding", 60)
        times, gathers = [], []
        for _ in range(20):
            time.sleep(0.11)  # longer than a copy is served again
            begun = time.monotonic()
            _headers, body = get(dut)
            times.append(time.monotonic() - begun)
            gathers.append(samples(body)["turnpike_process_gather_seconds"])
        value = samples(body)
        assert value['turnpike_rib_routes{vrf="main",protocol="operator"}'] == ROUTES
        assert value['turnpike_fib_routes{vrf="main",family="ipv4"}'] > ROUTES
        print(f"# {ROUTES:,} routes: scrape {1000 * sorted(times)[10]:.1f} ms (median of 20), {len(body) // 1024} KiB, of which "
              f"the control thread took {1000 * sorted(gathers)[10]:.2f} ms")
        assert sorted(gathers)[10] < 0.05 * SLOWDOWN, gathers
        machine.judge(min(times) < 0.05 * SLOWDOWN, f"the shortest of 20 scrapes took {1000 * min(times):.0f} ms")
        running.stop()


if __name__ == "__main__":
    tap.main(globals())
