#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""devtools/setup on a bad day of the mirror: a fetch that fails is tried again, and DPDK's sources are found when the
mirror has moved on by a point release. apt-get, dpkg-query, dpkg-source and the compiler are replaced by scripts."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(__file__), "../../devtools/setup")
HEADERS = ("ethdev_driver.h ethdev_vdev.h ethdev_pci.h bus_vdev_driver.h bus_pci_driver.h bus_driver.h dev_driver.h "
           "rte_dmadev_pmd.h rte_test.h").split()
TESTS = "test/test.h test/test_fib.c test/test_fib6.c test/test_acl.c test/test_acl.h test/test_hash.c test-fib/main.c".split()

# Each call of apt-get is a line of $CALLS; the first $FAILURES calls of a kind that $FAILS matches fail.
APT_GET = r"""#!/bin/bash
echo "$*" >>"$CALLS"
case "$*" in *--print-uris*) [ -z "$NEWEST" ] || echo "'http://mirror/dpdk_$NEWEST.dsc' dpdk_$NEWEST.dsc 3220 SHA256:0"; exit;; esac
[[ "$*" == *" install "* ]] && for service in $BRINGS; do touch "$TURNPIKE_SETUP_WANTS/$service"; done
if [[ -n "$FAILS" && "$*" == *$FAILS* ]]; then
    n=$(cat "$COUNT" 2>/dev/null || echo 0); echo $((n + 1)) >"$COUNT"
    [ "$n" -ge "$FAILURES" ] || { echo "E: no route to the mirror" >&2; exit 100; }
fi
[[ "$*" == *"dpdk=$GONE"* && -n "$GONE" ]] && { echo "E: Unable to find a source package" >&2; exit 100; }
[[ "$*" == *" source "* ]] && touch dpdk_any.dsc
exit 0
"""
SYSTEMCTL = """#!/bin/bash
echo "systemctl $*" >>"$CALLS"
exit "${SYSTEMCTL_CODE:-0}"
"""
DPKG_QUERY = """#!/bin/bash
case "$*" in *source:Version*) echo 22.11.11-0+deb12u1;; *) [ "$4" = "$MISSING" ] || echo "install ok installed";; esac
"""
DPKG_SOURCE = """#!/bin/bash
for header in %s; do mkdir -p "$4/lib/any"; echo >"$4/lib/any/$header"; done
mkdir -p "$4/drivers/bus" "$4/app/test" "$4/app/test-fib"
for test in %s; do echo >"$4/app/$test"; done
""" % (" ".join(HEADERS), " ".join(TESTS))


def setup(enabled=(), **environment):
    """(exit code, output, the calls of apt-get and systemctl, the fetched headers) of devtools/setup in a separate tree, on a
    machine with enabled services, which becomes the list of those after it."""
    with tempfile.TemporaryDirectory() as folder:
        bin_, tree = pathlib.Path(folder, "bin"), pathlib.Path(folder, "tree")
        (tree / "devtools").mkdir(parents=True)
        bin_.mkdir()
        shutil.copy(PROGRAM, tree / "devtools/setup")
        for name, text in {"apt-get": APT_GET, "dpkg-query": DPKG_QUERY, "dpkg-source": DPKG_SOURCE,
                           "systemctl": SYSTEMCTL, "g++": '#!/bin/sh\nexit "${COMPILES:-0}"\n', "pkg-config": "#!/bin/sh\n"}.items():
            (bin_ / name).write_text(text, encoding="utf-8")
            (bin_ / name).chmod(0o755)
        calls = pathlib.Path(folder, "calls")
        calls.touch()
        wants = pathlib.Path(folder, "multi-user.target.wants")
        wants.mkdir()
        for service in enabled:
            (wants / service).touch()
        done = subprocess.run(
            [tree / "devtools/setup", "--build"], capture_output=True, text=True, check=False, timeout=60,
            env={**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "CALLS": str(calls), "COUNT": f"{folder}/count",
                 "TURNPIKE_APT_PAUSE_S": "0", "FAILS": "", "FAILURES": "0", "GONE": "", "NEWEST": "", "MISSING": "",
                 "BRINGS": "", "TURNPIKE_SETUP_WANTS": str(wants), **environment})
        if enabled:
            enabled[:] = sorted(path.name for path in wants.iterdir())
        fetched = {path.name for path in (tree / ".sdk").glob("*.h")}
        return done.returncode, done.stdout + done.stderr, calls.read_text(encoding="utf-8").splitlines(), fetched


def test_headers_come_from_the_installed_version():
    code, said, calls, fetched = setup()
    assert code == 0 and fetched == set(HEADERS), said
    assert sum("dpdk=22.11.11-0+deb12u1" in call for call in calls) == 1, calls
    assert all("Acquire::Retries=5" in c and "DPkg::Lock::Timeout=600" in c and "Update::Error-Mode=any" in c for c in calls), calls


def test_two_failed_fetches_are_tried_again():
    for what in (" update ", " source "):
        code, said, calls, fetched = setup(FAILS=what, FAILURES="2", NEWEST="")
        assert code == 0 and fetched == set(HEADERS), said
        assert said.count("again in 0 s") == 2, said


def test_a_failed_install_is_tried_again():
    code, said, calls, _ = setup(MISSING="meson", FAILS=" install ", FAILURES="2")
    assert code == 0, said
    assert sum(" install " in call for call in calls) == 3, calls


def test_a_repository_that_is_gone():
    for missing in ("", "meson"):
        code, said, calls, fetched = setup(FAILS=" update ", FAILURES="99", MISSING=missing)
        assert code == 0 and fetched == set(HEADERS), said
        assert sum(" install " in call for call in calls) == bool(missing), calls


def test_new_services_do_not_start_at_boot():
    """Services of packages that were there before stay."""
    for systemctl, failures, code_wanted in (("0", "0", 0), ("1", "0", 0), ("0", "3", 1)):
        enabled = ["frr.service", "ssh.service"]
        code, said, calls, _ = setup(enabled, MISSING="meson", BRINGS="bird.service frr.service prometheus.service",
                                     SYSTEMCTL_CODE=systemctl, FAILS=" install ", FAILURES=failures)
        assert (code != 0) == code_wanted, said
        assert enabled == ["frr.service", "ssh.service"], (enabled, said)
        disabled = [call.split()[-1] for call in calls if call.startswith("systemctl") and " disable " in call]
        assert disabled == ["bird.service", "prometheus.service"], calls
        assert "bird.service is disabled" in said and "frr.service is" not in said, said


def test_three_failures_end_it():
    code, said, _, fetched = setup(FAILS=" source ", FAILURES="99")
    assert code != 0 and not fetched and "no route to the mirror" in said, said


def test_a_mirror_that_has_moved_on_by_a_point_release():
    code, said, _, fetched = setup(GONE="22.11.11-0+deb12u1", NEWEST="22.11.12-0+deb12u1")
    assert code == 0 and fetched == set(HEADERS), said
    assert "its sources are those of 22.11.12-0+deb12u1" in said, said


def test_sources_of_another_branch_are_refused():
    code, said, _, fetched = setup(GONE="22.11.11-0+deb12u1", NEWEST="23.11.1-0+deb12u1")
    assert code != 0 and not fetched and "nor of its branch" in said, said


def test_headers_that_do_not_compile_are_refused():
    code, said, _, _ = setup(GONE="22.11.11-0+deb12u1", NEWEST="22.11.12-0+deb12u1", COMPILES="1")
    assert code != 0 and "do not compile" in said, said


if __name__ == "__main__":
    tap.main(globals())
