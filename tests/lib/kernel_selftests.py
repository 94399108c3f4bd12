# SPDX-License-Identifier: BSD-3-Clause
"""Cases of Linux's own tests (tools/testing/selftests/net/forwarding), each a function of the running topology of its
test, and a row in doc/kernel-selftests.md.

    case = Cases()

    @case("router_bridge", "ping_ipv4")
    def ping4(topology): ...

    case.run(("router_bridge",), Bridge)
"""
import os
import re

from lib.hosts import Lab

DOCUMENT = os.path.join(os.path.dirname(__file__), "../../doc/kernel-selftests.md")


class Cases(dict):
    def __call__(self, test, name):
        def add(function):
            assert (test, name) not in self, (test, name)
            self[test, name] = function
            return function
        return add

    def run(self, tests, topology):
        """Run the cases of these tests in order; topology(lab) returns an object with `running`, which is stopped at the end."""
        with Lab() as lab:
            t = topology(lab)
            wrong = []
            for (test, name), function in self.items():
                if test not in tests:
                    continue
                try:
                    function(t)
                    print(f"# {test}: {name}: passes", flush=True)
                except AssertionError as why:
                    print(f"# {test}: {name}: {why}", flush=True)
                    wrong.append((test, name))
            t.running.stop()
            assert not wrong, wrong

    def are_the_rows(self, whose):
        """Check the document: these cases, and no others of the tests for which whose(test) is true, are marked as passing."""
        with open(DOCUMENT, encoding="utf-8") as file:
            rows = re.findall(r"^\| `(\w+)` \| (.*?) \| passes \|", file.read(), re.M)
        rows = [row for row in rows if whose(row[0])]
        assert sorted(rows) == sorted(self), sorted(set(rows) ^ set(self))
