#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Debian packages: made of the build folder, installed over a copy of this system that is thrown away, used there by
another user than root, upgraded, and removed. The copy is an overlay: what a step writes is seen in its upper folder."""
import glob
import gzip
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import tap  # noqa: E402

BUILD = os.path.abspath(os.environ["TURNPIKE_BUILD"])
TOP = pathlib.Path(__file__).resolve().parents[2]
_folder = tempfile.TemporaryDirectory(prefix="turnpike-package-test-")
FOLDER = pathlib.Path(_folder.name)
PACKAGES = FOLDER / "packages"
NAMES = ["dpdk-turnpike-drivers", "libturnpike-dev", "libturnpike0", "turnpike", "turnpike-doc"]

# A copy has its own namespaces of mounts, processes and network. $1: a folder for the upper layer, $2: the packages, $3: the
# script to run in the copy.
ENTER = """
set -e
umask 022
mount -t tmpfs turnpike-upper "$1"
mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" overlay "$1/root"
mount --rbind /dev "$1/root/dev"
mount -t proc proc "$1/root/proc"
mount -t sysfs sysfs "$1/root/sys"
mount -t tmpfs run "$1/root/run"
mkdir "$1/root/packages"
mount --bind "$2" "$1/root/packages"
ip link set lo up
chroot "$1/root" sh -ec "$3"
"""


# A container's dpkg may be configured to leave documentation out, and its packages to start and stop nothing. If turnpike is
# installed on this machine (packages, or `meson install`) or was, the copy is without it, and without the users of these tests.
PREAMBLE = f"""
export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
rm -f /etc/dpkg/dpkg.cfg.d/* /usr/sbin/policy-rc.d
if installed=$(dpkg-query -W -f '${{Package}} ' {" ".join(NAMES)} 2>/dev/null) || [ "$installed" ]; then dpkg --purge $installed >/dev/null; fi
find /etc /usr '(' -name '*turnpike*' -o -name 'librte_mempool_cache_aware.so*' -o -name 'librte_net_simnic.so*' \\
    -o -name 'librte_net_xsk.so*' ')' -prune -printf '%h\\0' -exec rm -rf {{}} + | xargs -0r rmdir --ignore-fail-on-non-empty 2>/dev/null || true
for id in turnpike ops netops 10001; do
    ! user=$(getent passwd $id) || userdel -f "${{user%%:*}}"
    ! group=$(getent group $id) || groupdel -f "${{group%%:*}}"
done
"""


def in_copy(script, seconds=180):
    """Runs a shell script in a fresh copy of this system; answers its output."""
    with tempfile.TemporaryDirectory(prefix="turnpike-copy-") as folder:
        done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh", folder,
                               str(PACKAGES), PREAMBLE + script],
                              capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def made():
    """The folder of the packages, which the first test to ask for them makes."""
    if not PACKAGES.exists():
        done = subprocess.run([TOP / "devtools/package", PACKAGES, "--build-folder", BUILD], capture_output=True, text=True,
                              timeout=400, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return PACKAGES


def debs(*names):
    found = [path for name in names for path in glob.glob(f"{made()}/{name}_*.deb")]
    assert len(found) == len(names), f"{names}: {os.listdir(PACKAGES)}"
    return " ".join("/packages/" + os.path.basename(path) for path in found)


@tap.limit(420)
def test_packages_are_made():
    assert sorted(path.name.split("_")[0] for path in made().glob("*.deb") if "dbgsym" not in path.name) == NAMES


@tap.limit(420)
def test_the_page_installs_the_files_that_it_copies():
    """The example of doc/install.md is in the packages that the page installs, and the unit runs it without a drop-in."""
    blocks = re.findall(r"^```\n(.*?)^```$", (TOP / "doc/install.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()
             if line.startswith(("apt install ", "cp "))]
    contents = set()
    for pattern in (os.path.basename(word) for line in lines if line[0] == "apt" for word in line[2:]):
        package, = made().glob(pattern)
        listing = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, timeout=60, check=True)
        contents |= {line.split()[5][1:] for line in listing.stdout.splitlines()}
    copied = [line[1] for line in lines if line[0] == "cp"]
    assert copied and set(copied) <= contents, set(copied) - contents
    for path in copied:
        example = TOP / "examples" / path.partition("/examples/")[2]
        assert "namespace" not in yaml.safe_load(example.read_text("utf-8")).get("control_plane", {}), path
        done = subprocess.run([f"{BUILD}/app/turnpike/turnpike", "--config", example, "--check"], capture_output=True, text=True,
                              timeout=30, check=False)
        assert done.returncode == 0, done.stderr


def digests(folder):
    """SHA-256 of the packages and of their bill of materials; *.buildinfo and *.changes describe one run."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for pattern in ("*.deb", "*.spdx.json.gz") for path in pathlib.Path(folder).glob(pattern)}


if os.environ.get("TURNPIKE_LONG") == "1":  # the packaging takes a minute or more
    @tap.limit(420)
    def test_two_runs_give_the_same_bytes():
        """The packaging, in another folder at another time, with another umask, time zone and language."""
        again = FOLDER / "again"
        done = subprocess.run(["sh", "-c", 'umask 0027; exec "$0" "$@"', TOP / "devtools/package", again, "--build-folder", BUILD],
                              capture_output=True, text=True, timeout=400, check=False,
                              env=os.environ | {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "TMPDIR": str(FOLDER)})
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        first, second = digests(made()), digests(again)
        assert len(first) > len(NAMES) and first == second, [name for name in first if first[name] != second.get(name)]


@tap.limit(420)
def test_compiler_flags_are_hardened_and_keep_the_optimization():
    """The configuration of a build of the packages: one level of optimization in each command, -O3 for the datapath, as in a build by
    meson alone; and dpkg's flags."""
    with tempfile.TemporaryDirectory(prefix="turnpike-rules-") as folder:
        subprocess.run(f"git -C {TOP} archive HEAD | tar -x -C {folder} && cp -r {TOP}/.sdk {folder}/", shell=True, check=True)
        done = subprocess.run(["debian/rules", "override_dh_auto_configure"], cwd=folder, capture_output=True, text=True, timeout=300,
                              check=False, env={name: value for name, value in os.environ.items() if name != "TURNPIKE_BUILD"})
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        commands = json.loads(next(pathlib.Path(folder).glob("*/compile_commands.json")).read_text("utf-8"))
    assert len(commands) > 100
    for command in commands:
        words = command["command"].split()
        levels = [word for word in words if re.fullmatch(r"-O\w", word)]
        assert len(levels) == 1 and {"-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"} <= set(words), command
        assert "turnpike-datapath.a.p" not in command["output"] or levels == ["-O3"], command


@tap.limit(420)
def test_the_bill_of_materials_names_what_is_inside():
    bill = json.loads(gzip.decompress(next(made().glob("*.spdx.json.gz")).read_bytes()))
    assert bill["spdxVersion"] == "SPDX-2.3"
    known = {p["SPDXID"] for p in bill["packages"]} | {f["SPDXID"] for f in bill["files"]} | {"SPDXRef-DOCUMENT"}
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known, relation
    assert {"/usr/bin/turnpike", "/usr/bin/turnpikectl"} <= {f["fileName"] for f in bill["files"]}
    needed = {r["relatedSpdxElement"] for r in bill["relationships"] if r["relationshipType"] == "DEPENDS_ON"}
    assert any("libmicrohttpd" in name for name in needed) and any("librte-eal" in name for name in needed), needed


@tap.limit(420)
def test_it_forwards_for_another_user_than_root():
    """With the capabilities of the unit, and no others but one: where a container has a limit of locked memory that root
    may not raise, CAP_IPC_LOCK stands for LimitMEMLOCK=infinity."""
    unit = (pathlib.Path(BUILD) / "data/systemd/turnpike.service").read_text("utf-8")
    line, = [line for line in unit.splitlines() if line.startswith("AmbientCapabilities=")]
    capabilities = ",".join("+" + name.removeprefix("CAP_").lower() for name in [*line.split("=")[1].split(), "CAP_IPC_LOCK"])
    out = in_copy(f"""
dpkg -i {debs("turnpike", "dpdk-turnpike-drivers")} >/dev/null
[ "$(stat -c %U /etc/turnpike)" = turnpike ]
ip netns add host
ip link add uplink type veth peer name far netns host
ip link set uplink up
ip -n host link set far up
ip -n host address add 10.0.1.2/24 dev far
cat >/etc/turnpike/turnpike.yaml <<'EOF'
eal: {{args: "-l 0-1 --in-memory --no-pci", hugepages: optional}}
control_plane: {{netlink: true}}
ports: [{{name: west, device: "net_xsk0,iface=uplink", addresses: [10.0.1.1/24], host_interface: true}}]
EOF
turnpike --config /etc/turnpike/turnpike.yaml --check
mkdir -m 0755 /run/turnpike
chown turnpike /run/turnpike
setpriv --reuid turnpike --regid turnpike --clear-groups --no-new-privs --inh-caps=-all,{capabilities} \\
    --ambient-caps=-all,{capabilities} --bounding-set=-all,{capabilities} env XDG_RUNTIME_DIR=/run/turnpike \\
    turnpike --config /etc/turnpike/turnpike.yaml >/tmp/log 2>&1 &
for i in $(seq 20); do ip netns exec host ping -c 1 -W 1 10.0.1.1 >/dev/null && break; sleep 0.1; done
ip netns exec host ping -c 3 -i 0.2 10.0.1.1 || {{ cat /tmp/log; exit 1; }}
grep -E '^(Uid|CapEff)' /proc/$(pgrep -x turnpike)/status
turnpikectl show ports
turnpikectl save
[ "$(stat -c %U /etc/turnpike/turnpike.yaml)" = turnpike ]
kill $!
wait $!
grep balance /tmp/log
""")
    assert "3 received" in out and "net_xsk" in out and "balance" in out, out
    identity, = [line.split() for line in out.splitlines() if line.startswith("Uid")]
    assert identity[1] != "0", identity


# After ENTER's file systems: systemd as the first process, whose unit probe.service runs /probe and then ends the copy.
BOOT = ENTER.replace('chroot "$1/root" sh -ec "$3"', """
mount -t cgroup2 cgroup2 "$1/root/sys/fs/cgroup"
chroot "$1/root" sh -ec "$3"
for unit in sysctl binfmt modules-load udevd udev-trigger; do  # they would change the machine
    ln -sf /dev/null "$1/root/etc/systemd/system/systemd-$unit.service"
done
: >"$1/root/etc/fstab"
cp "$2/probe" "$1/root/probe"
cat >"$1/root/etc/systemd/system/probe.service" <<'EOF'
[Unit]
DefaultDependencies=no
Wants=systemd-journald.service
After=systemd-journald.service
[Service]
Type=oneshot
ExecStart=/bin/sh /probe
StandardOutput=file:/packages/said
StandardError=file:/packages/said
ExecStopPost=/usr/bin/systemctl --force poweroff
EOF
exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
    chroot "$1/root" /lib/systemd/systemd --system --unit=probe.service --log-target=null
""")


def under_systemd(install, probe, seconds):
    """Runs a shell script in a fresh copy of this system under systemd, after another that installs; answers its output."""
    said = PACKAGES / "said"
    said.unlink(missing_ok=True)
    (PACKAGES / "probe").write_text("set -eu\n" + probe, encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="turnpike-copy-") as folder:
        done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--cgroup", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c",
                               BOOT, "sh", folder, str(PACKAGES), PREAMBLE + install],
                              capture_output=True, text=True, timeout=seconds, check=False)
    assert said.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return said.read_text("utf-8")


@tap.limit(420)
def test_the_unit_runs_under_systemd():
    """With everything that it restricts: forwards, is reloaded, is restarted after SIGKILL, and a broken configuration is given up."""
    out = under_systemd(f"""
dpkg -i {debs("turnpike", "dpdk-turnpike-drivers")} >/dev/null
cat >/etc/turnpike/turnpike.yaml <<'EOF'
eal: {{args: "-l 0-1 --in-memory --no-pci", hugepages: optional}}
mempool: {{buffers: 8192}}
control: {{group: netops}}
control_plane: {{netlink: true}}
ports: [{{name: west, device: "net_xsk0,iface=uplink", addresses: [10.0.1.1/24], host_interface: true}}]
EOF
groupadd netops
useradd ops
mkdir -p /etc/systemd/system/turnpike.service.d
# doc/install.md: where LimitMEMLOCK=infinity has no effect. RestartSec is shortened.
printf '[Service]\nCapabilityBoundingSet=CAP_IPC_LOCK\nAmbientCapabilities=CAP_IPC_LOCK\nRestartSec=100ms\nSupplementaryGroups=netops\n' \\
    >/etc/systemd/system/turnpike.service.d/test.conf
""", """
trap 'journalctl --no-pager -o cat -u turnpike | tail -n 40' EXIT
ip netns add host
ip link add uplink type veth peer name far netns host
ip link set uplink up
ip -n host link set far up
ip -n host address add 10.0.1.2/24 dev far
answers() { for i in $(seq 50); do ip netns exec host ping -c 1 -W 1 10.0.1.1 >/dev/null && return; sleep 0.1; done; return 1; }
systemctl start turnpike
answers
pid=$(systemctl show -P MainPID turnpike)
grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' /proc/$pid/status
[ -d /proc/$pid/root/run/turnpike ] && [ ! -w /proc/$pid/root/usr ] && echo protected
until_true() { for i in $(seq 300); do "$@" && return; sleep 0.1; done; return 1; }
has_address() { ip address show west | grep -q 10.0.1.1/24; }
until_true has_address && echo host interface
turnpikectl show ports >/dev/null
setpriv --reuid ops --regid ops --groups netops turnpikectl port replace west mtu 1400 && echo an operator changes
setpriv --reuid ops --regid ops --groups netops turnpikectl check /etc/turnpike/missing.yaml || echo no file
cp /etc/turnpike/turnpike.yaml /tmp/good
systemctl reload turnpike && echo reloaded
echo 'ports: [broken' >/etc/turnpike/turnpike.yaml
systemctl reload turnpike || echo reload refused
answers && [ "$(systemctl show -P MainPID turnpike)" = $pid ] && echo the old one forwards
cp /tmp/good /etc/turnpike/turnpike.yaml
kill -KILL $pid
is_another() { case $(systemctl show -P MainPID turnpike) in 0 | $pid) return 1;; esac; }
until_true is_another && answers && echo restarted
systemctl stop turnpike
systemctl show -P Result turnpike
echo 'ports: [broken' >/etc/turnpike/turnpike.yaml
systemctl start turnpike || echo start refused
sleep 1
systemctl show -P ActiveState -P NRestarts turnpike
systemctl reset-failed turnpike
sed s/iface=uplink/iface=late/ /tmp/good >/etc/turnpike/turnpike.yaml
systemctl start turnpike || echo no interface
was_tried() { [ "$(systemctl show -P NRestarts turnpike)" -ge 6 ]; }
until_true was_tried
ip link set uplink name late
answers && echo comes with its interface
""", 180)
    status = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith(("Uid:", "CapEff:", "NoNewPrivs:", "Seccomp:"))}
    assert status["Uid:"] != "0" and status["NoNewPrivs:"] == "1" and status["Seccomp:"] == "2", out
    assert int(status["CapEff:"], 16) == sum(1 << bit for bit in (12, 13, 14, 39)), out  # and CAP_IPC_LOCK
    for line in ("host interface", "reloaded", "reload refused", "the old one forwards", "restarted", "success", "start refused", "no interface",
                 "comes with its interface", "an operator changes"):
        assert f"{line}\n" in out, f"no '{line}': {out}"
    assert re.search(r"^(0\nfailed|failed\n0)\n", out, re.MULTILINE), out
    assert "forwarding" in out and "no system call is denied" not in out, out


@tap.limit(420)
def test_an_upgrade_restarts_the_service_and_a_removal_stops_it():
    """Under systemd, enabled. Where the new version refuses the configuration, the old one runs on. After a purge neither user,
    group, link nor folder in /run is left, although an operator is in the group."""
    packages = debs("turnpike", "dpdk-turnpike-drivers")
    out = under_systemd(f"""
dpkg -i {packages} >/dev/null
cat >/etc/turnpike/turnpike.yaml <<'EOF'
eal: {{args: "-l 0-1 --in-memory --no-pci", hugepages: optional}}
mempool: {{buffers: 8192}}
ports: [{{name: west, device: "net_null0", addresses: [10.0.1.1/24]}}]
EOF
useradd --groups turnpike ops
""", f"""
trap 'journalctl --no-pager -o cat -u turnpike | tail -n 40' EXIT
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
systemctl enable turnpike
systemctl start turnpike
first=$(systemctl show -P MainPID turnpike)
[ "$first" != 0 ] && echo it runs
dpkg -i {packages} >/dev/null
second=$(systemctl show -P MainPID turnpike)
[ "$second" != 0 ] && [ "$second" != "$first" ] && echo it was restarted
mv /etc/turnpike/turnpike.yaml /tmp/good
echo 'ports: [broken' >/etc/turnpike/turnpike.yaml
dpkg -i {packages} >/dev/null
[ "$(systemctl show -P MainPID turnpike)" = "$second" ] && echo the old one runs on
mv /tmp/good /etc/turnpike/turnpike.yaml
systemctl stop turnpike
dpkg -i {packages} >/dev/null
[ "$(systemctl show -P MainPID turnpike)" = 0 ] && echo it stays stopped
systemctl start turnpike
third=$(systemctl show -P MainPID turnpike)
dpkg --remove turnpike
[ ! -e /proc/$third ] && echo it was stopped
dpkg --purge turnpike
getent passwd turnpike || getent group turnpike || [ -e /run/turnpike ] || [ -e /etc/systemd/system/multi-user.target.wants/turnpike.service ] || echo nothing is left
""", 120)
    assert "turnpike is not restarted" in out and "/etc/turnpike/turnpike.yaml:" in out, out
    for line in ("it runs", "it was restarted", "the old one runs on", "it stays stopped", "it was stopped", "nothing is left"):
        assert f"{line}\n" in out, f"no '{line}': {out}"


def containerfile():
    """[(instruction, words)] of the example."""
    text = (TOP / "examples/container/Containerfile").read_text("utf-8").replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line and not line.startswith("#")]


@tap.limit(420)
def test_the_container_image_forwards_with_three_capabilities():
    """The Containerfile's commands in a copy of this system, whose packages stand for apt's; then its program as its user, with the
    capabilities of a container that was given three and no others, and a router of the example."""
    steps = containerfile()
    assert [name for name, _ in steps] == ["FROM", "COPY", "RUN", "USER", "ENV", "ENTRYPOINT", "CMD"], steps
    step = dict(steps)
    *sources, to = step["COPY"].split()
    user, group = step["USER"].split(":")
    command = " ".join(json.loads(step["ENTRYPOINT"]) + json.loads(step["CMD"]))
    bounding = "+net_raw,+net_admin,+bpf"
    config = (TOP / "examples/container/turnpike.yaml").read_text("utf-8").replace("buffers: 8192", "buffers: 2048").replace(
        'addresses: [10.0.1.1/24', 'descriptors: 256, addresses: [10.0.1.1/24').replace(
        'addresses: [10.0.2.1/24', 'descriptors: 256, addresses: [10.0.2.1/24')
    debs("turnpike", "dpdk-turnpike-drivers")
    out = in_copy(f"""
mkdir -p {to} /tmp/bin
cd / && cp {" ".join(sources)} {to}
printf '#!/bin/sh\n[ "$1" != install ] || dpkg -i {to}*.deb\n' >/tmp/bin/apt-get
chmod +x /tmp/bin/apt-get
PATH=/tmp/bin:$PATH
( {step["RUN"]} ) >/dev/null
for n in 1 2; do
    ip netns add host$n
    ip link add net$n type veth peer name eth0 netns host$n
    ip link set net$n up
    ip -n host$n link set eth0 up
    ip -n host$n address add 10.0.$n.2/24 dev eth0
    ip -n host$n route add default via 10.0.$n.1
done
cat >/etc/turnpike/turnpike.yaml <<'EOF'
{config}
EOF
chown turnpike /etc/turnpike/turnpike.yaml
echo "user of the package: $(id -u turnpike):$(id -g turnpike)"
install -d -o turnpike -g turnpike -m 0755 /run/turnpike
setpriv --reuid {user} --regid {group} --clear-groups --inh-caps=-all --bounding-set=-all,{bounding} \
    env {step["ENV"]} {command} >/tmp/log 2>&1 &
for i in $(seq 40); do ip netns exec host1 ping -c 1 -W 1 10.0.2.2 >/dev/null && break; sleep 0.1; done
ip netns exec host1 ping -c 3 -i 0.2 10.0.2.2 || {{ cat /tmp/log; exit 1; }}
grep -E '^(Uid|CapEff|CapBnd)' /proc/$(pgrep -x turnpike)/status
kill $(pgrep -x turnpike)
wait $!
grep balance /tmp/log
""")
    status = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith(("Uid", "Cap"))}
    wanted = sum(1 << bit for bit in (12, 13, 39))  # CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF of linux/capability.h
    assert "3 received" in out and "balance" in out, out
    assert f"user of the package: {user}:{group}" in out, out
    assert status["Uid:"] == user != "0" and int(status["CapBnd:"], 16) == wanted, status
    assert int(status["CapEff:"], 16) == wanted, status


def test_the_pod_asks_for_what_the_container_needs():
    config, pod = yaml.safe_load_all((TOP / "examples/container/kubernetes.yaml").read_text("utf-8"))
    container, = pod["spec"]["containers"]
    if container["securityContext"]["runAsNonRoot"]:  # the kubelet knows a user's number only
        user = str(container["securityContext"].get("runAsUser", dict(containerfile())["USER"])).partition(":")[0]
        assert user.isdigit() and int(user) != 0, user
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["NET_RAW", "NET_ADMIN", "BPF"]}
    with_file = dict(containerfile())["RUN"]
    assert all(f"cap_{name.lower()}" in with_file for name in container["securityContext"]["capabilities"]["add"]), with_file
    example = yaml.safe_load((TOP / "examples/container/turnpike.yaml").read_text("utf-8"))
    assert yaml.safe_load(config["data"]["turnpike.yaml"]) == example
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(config["data"]["turnpike.yaml"])
        file.flush()
        done = subprocess.run([f"{BUILD}/app/turnpike/turnpike", "--config", file.name, "--check"], capture_output=True, text=True,
                              timeout=30, check=False)
    assert done.returncode == 0, done.stderr


@tap.limit(420)
def test_turnpike_doctor_is_turnpike_doctor():
    out = in_copy(f"""
dpkg -i {debs("turnpike", "dpdk-turnpike-drivers")} >/dev/null
turnpike doctor --json >/tmp/one || [ $? = 1 ]    # 1: errors of this machine
turnpike-doctor --json >/tmp/two || [ $? = 1 ]
grep -q turnpike.doctor/1 /tmp/one
cmp /tmp/one /tmp/two
turnpike-doctor --version
""")
    assert out.strip() == "0.1.0", out


@tap.limit(420)
def test_any_dpdk_program_finds_the_drivers():
    out = in_copy(f"""
dpkg -i {debs("dpdk-turnpike-drivers")} >/dev/null
dpdk-testpmd -l 0-1 --no-huge -m 256 --no-pci --vdev net_simnic0,wire=sink --mbuf-pool-ops-name=cache_aware -- --total-num-mbufs 4096 \\
    --stats-period 0 --auto-start </dev/null 2>&1 || true
""")
    assert "Port 0:" in out and "preferred mempool ops selected: cache_aware" in out, out[-3000:]


@tap.limit(420)
def test_programs_are_built_against_the_libraries():
    out = in_copy(f"""
dpkg -i {debs("libturnpike0", "libturnpike-dev", "turnpike-doc")} >/dev/null
cd /tmp
cp /usr/share/doc/turnpike/examples/fib_lookup.cpp .
g++ -std=c++20 fib_lookup.cpp -o fib_lookup $(pkg-config --cflags --libs turnpike-fib libdpdk)
ldd fib_lookup | grep turnpike
""")
    assert "libturnpike-fib.so.0 => /lib" in out or "libturnpike-fib.so.0 => /usr/lib" in out, out


@tap.limit(420)
def test_an_upgrade_keeps_the_configuration_and_a_purge_leaves_nothing():
    everything = debs(*NAMES)
    out = in_copy(f"""
list() {{ find /etc /usr /opt /srv /var/lib /lib /bin /sbin -xdev ! -path '/var/lib/dpkg/*' ! -path '/var/cache/*' ! -name '*.cache' \\
    ! -path '/usr/share/info/*' ! -name 'passwd-' ! -name 'group-' ! -name 'shadow-' ! -name 'gshadow-' ! -name '.pwd.lock' \\
    ! -path '/var/lib/systemd/*' | sort; }}
list >/tmp/before
cp /etc/passwd /tmp/passwd
dpkg -i {everything} >/dev/null
grep '^turnpike:' /etc/passwd
echo 'HUGEPAGES=64' >/etc/default/turnpike
echo 'ports: []' >/etc/turnpike/turnpike.yaml
dpkg -i {everything} >/dev/null
cat /etc/default/turnpike /etc/turnpike/turnpike.yaml
dpkg --remove {" ".join(NAMES)} >/dev/null
test -e /etc/turnpike/turnpike.yaml
mkdir /run/turnpike  # as a service leaves it
dpkg --purge {" ".join(NAMES)} >/dev/null
test ! -e /run/turnpike
list >/tmp/after
diff /tmp/before /tmp/after
diff /tmp/passwd /etc/passwd
echo nothing is left
""")
    assert "HUGEPAGES=64\nports: []\n" in out and out.endswith("nothing is left\n"), out


if __name__ == "__main__":
    tap.main(globals())
