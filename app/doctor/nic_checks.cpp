// SPDX-License-Identifier: BSD-3-Clause
// Network devices: IOMMU, drivers, PCIe links, NUMA nodes, AF_XDP.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hardware.hpp"
#include "examine.hpp"
#include "interfaces.hpp"
#include "pcie/detect.hpp"
#include "state/default_route.hpp"
#include "state/pci_device.hpp"

namespace turnpike::doctor {
namespace {

constexpr const char* pci_folder = "/sys/bus/pci/devices";

struct nic {
    std::string address{}, driver{};
    std::string port{};            ///< of the configuration, if any
    std::string interface_port{};  ///< a port on an interface of the kernel, or on one above it
    std::vector<std::string> interfaces{};

    [[nodiscard]] std::string folder() const { return fmt::format("{}/{}", pci_folder, address); }
    [[nodiscard]] std::string label() const {
        return address +
               (interfaces.empty() ? "" : fmt::format(" ({})", fmt::join(interfaces, ", ")));
    }
};

/// Linux interfaces of a device; a virtio device's are one folder deeper.
std::vector<std::string> interfaces_of(const machine& m, const std::string& folder) {
    auto out = m.names(folder + "/net");
    for (const std::string& name : m.names(folder))
        if (name.compare(0, 6, "virtio") == 0)
            for (const std::string& interface : m.names(folder + "/" + name + "/net"))
                out.push_back(interface);
    return out;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// The port of the configuration on one of these interfaces.
std::string port_on(const machine& m, const plan& p, const std::vector<std::string>& interfaces) {
    for (const auto& port : p.ports) {
        const std::string used = interface_used_by(port.device);
        if (used.empty()) continue;
        for (const std::string& name : with_lower_interfaces(m, {used}))
            if (contains(interfaces, name)) return port.name;
    }
    return {};
}

std::vector<nic> nics_of(const machine& m, const plan& p) {
    constexpr std::string_view network_class = "0x02";
    std::vector<nic> out;
    for (const std::string& address : m.names(pci_folder)) {
        nic n{.address = address};
        for (const auto& port : p.ports)
            if (contains(state::pci_addresses_of(port.device), address)) n.port = port.name;
        if (m.text(n.folder() + "/class").compare(0, network_class.size(), network_class) != 0)
            continue;
        n.driver = m.link_name(n.folder() + "/driver");
        n.interfaces = interfaces_of(m, n.folder());
        n.interface_port = port_on(m, p, n.interfaces);
        out.push_back(std::move(n));
    }
    return out;
}

/// Devices that the configuration names; without one, all.
bool matters(const nic& n, const plan& p) { return !p.configured || !n.port.empty(); }
/// The same with the devices of the interfaces that it names.
bool carries_packets(const nic& n, const plan& p) {
    return matters(n, p) || !n.interface_port.empty();
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
    return std::find(all.begin(), all.end(), text) != all.end();
}

bool is_uio(const nic& n) { return is_one_of(n.driver, {"igb_uio", "uio_pci_generic"}); }

std::vector<std::string> bind_commands(const nic& n) {
    std::vector<std::string> out = {"modprobe vfio-pci"};
    for (const std::string& interface : n.interfaces)
        out.push_back("ip link set " + interface + " down");
    out.push_back("dpdk-devbind.py -b vfio-pci " + n.address);
    return out;
}

diagnosis judge_driver(const nic& n, const plan& p, const std::set<std::string>& default_routes) {
    const auto leads_out =
        std::find_if(n.interfaces.begin(), n.interfaces.end(),
                     [&](const auto& i) { return default_routes.count(i) != 0; });
    diagnosis f{.subject = n.label()};
    if (leads_out != n.interfaces.end()) {
        f.level = n.port.empty() ? severity::ok : severity::error;
        f.text =
            n.port.empty()
                ? fmt::format("driver {}; the default route leaves by it: leave it to the kernel",
                              n.driver)
                : fmt::format(
                      "port '{}' would take {}, by which the default route leaves: the machine "
                      "would be cut off",
                      n.port, *leads_out);
        if (!n.port.empty())
            f.remedy = {
                "use another device, or move the default route first: ip route replace default "
                "..."};
        return f;
    }
    if (state::is_bifurcated(n.driver)) {
        f.text = fmt::format("driver {}, which DPDK uses beside the kernel", n.driver);
    } else if (n.driver == "vfio-pci") {
        f.text = "driver vfio-pci";
    } else if (is_uio(n)) {
        f.level = severity::warning;
        f.text = fmt::format("driver {}: the device reaches all memory", n.driver);
        f.reason = "without an IOMMU a wrong descriptor overwrites anything";
        f.remedy = bind_commands(n);
    } else {
        f.level = n.port.empty() ? severity::note : severity::error;
        const std::string by = n.driver.empty()
                                   ? "no driver has it"
                                   : fmt::format("the kernel's driver {} has it", n.driver);
        f.text = n.port.empty() ? by : fmt::format("port '{}': {}", n.port, by);
        if (!p.configured)
            f.text += "; a port of turnpike needs vfio-pci, or net_xsk on the kernel's interface";
        f.remedy = bind_commands(n);
    }
    return f;
}

double number_before(const std::string& text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// The folder of the PCIe port above a device, from the device's path ("…/0000:3a:00.0/0000:3b:00.0").
std::string bridge_above(const machine& m, const nic& n) {
    const auto parts = split(m.link(n.folder()), "/");
    if (parts.size() < 2 || state::pci_addresses_of(parts[parts.size() - 2]).empty()) return {};
    return fmt::format("{}/{}", pci_folder, parts[parts.size() - 2]);
}

void judge_link(const machine& m, const nic& n, std::vector<diagnosis>& out) {
    const std::string speed = m.text(n.folder() + "/current_link_speed"),
                      max_speed = m.text(n.folder() + "/max_link_speed");
    const uint64_t width = m.number(n.folder() + "/current_link_width").value_or(0),
                   max_width = m.number(n.folder() + "/max_link_width").value_or(0);
    if (width == 0 || max_width == 0) return;
    const bool slow = number_before(speed) < number_before(max_speed), narrow = width < max_width;
    if (!slow && !narrow) {
        out.push_back({.subject = n.label(),
                       .text = fmt::format("link {} x{}, as the card can", speed, width)});
        return;
    }
    const std::string above = bridge_above(m, n);
    const bool slot =
        !above.empty() &&
        (number_before(m.text(above + "/max_link_speed")) < number_before(max_speed) ||
         m.number(above + "/max_link_width").value_or(max_width) < max_width);
    out.push_back({.level = severity::warning,
                   .subject = n.label(),
                   .text = fmt::format("link {} x{}, and the card can {} x{}", speed, width,
                                       max_speed, max_width),
                   .reason = "a link moves payload and its own overhead: turnpike-pcie shows the "
                             "packets per second that it carries (section 10.1, 1.2)",
                   .remedy = {slot ? "the slot can no more: use a wider or newer slot"
                                   : "reseat the card, and look at bifurcation and link speed of "
                                     "the slot in the BIOS"}});
}

void judge_config(const machine& m, const nic& n, std::vector<diagnosis>& out) {
    const auto config = m.bytes(n.folder() + "/config");
    if (!config || m.number(n.folder() + "/current_link_width").value_or(0) == 0) return;
    const auto link = pcie::link_of_config(*config, n.address);
    if (!link) {
        if (link.error().code == EACCES)
            out.push_back({.level = severity::note,
                           .subject = n.label(),
                           .text = "payload size, request size and ASPM were not read",
                           .remedy = {"run as root"}});
        return;
    }
    const bool small_mps = link->mps < 256, small_mrrs = link->mrrs < 512;
    diagnosis sizes{.subject = n.label(),
                    .text = fmt::format("maximum payload {} bytes, maximum read request {} bytes",
                                        link->mps, link->mrrs)};
    if (small_mps || small_mrrs) {
        sizes.level = severity::warning;
        sizes.reason = "at least 256 and 512 bytes: smaller ones cost headers (section 10.1, 1.2)";
    }
    // pcie_bus_perf would lower read requests to the payload (pcie_write_mrrs()).
    if (small_mps)
        sizes.remedy.push_back(
            "payload: pci=pcie_bus_safe on the kernel's command line, or the BIOS' setting");
    if (small_mrrs)
        sizes.remedy.push_back(fmt::format(
            "read requests: setpci -s {} CAP_EXP+8.w=2000:7000 (512 bytes), until the next boot",
            n.address));
    out.push_back(std::move(sizes));
    const auto aspm = pcie::aspm_of_config(*config, n.address);
    if (aspm && *aspm != 0)
        out.push_back({.level = severity::warning,
                       .subject = n.label(),
                       .text = fmt::format("ASPM {} is enabled", *aspm == 1   ? "L0s"
                                                                 : *aspm == 2 ? "L1"
                                                                              : "L0s and L1"),
                       .reason = "a link that sleeps wakes up in microseconds (section 10.1, 1.2)",
                       // pcie_aspm=off leaves what the firmware enabled (kernel-parameters.txt).
                       .remedy = {"echo performance > /sys/module/pcie_aspm/parameters/policy, "
                                  "until the next boot",
                                  "pcie_aspm.policy=performance on the kernel's command line"}});
}

/// The driver and the queues of a net_xsk port's interface.
diagnosis judge_xsk(const machine& m, const plan::port& port, const std::string& interface) {
    const std::string folder = "/sys/class/net/" + interface;
    const std::string driver = m.link_name(folder + "/device/driver");
    const bool zero_copy = is_one_of(driver, {"i40e", "ice", "igb", "igc", "ixgbe", "mlx5_core",
                                              "nfp", "stmmaceth", "gve", "fsl_dpaa2_eth"});
    unsigned queues = 0;
    for (const std::string& name : m.names(folder + "/queues"))
        queues += name.compare(0, 3, "rx-") == 0 ? 1 : 0;
    diagnosis f{.subject = interface,
                .text = fmt::format("driver {}, {} receive queues, {}",
                                    driver.empty() ? "of a virtual interface" : driver, queues,
                                    zero_copy ? "zero copy" : "packets are copied")};
    // With a filter, queues for the kernel alone are a choice.
    if (queues > port.rx_queues && device_argument(port.device, "filter").empty()) {
        f.level = severity::warning;
        f.text += fmt::format(": port '{}' polls {} of them", port.name, port.rx_queues);
        f.reason = "packets that the device puts into the other queues go to the kernel";
        // veth has receive and transmit channels, and no combined ones (veth_get_channels()).
        f.remedy = {fmt::format("ethtool -L {} {} {}", interface,
                                driver.empty() ? "rx" : "combined", port.rx_queues),
                    fmt::format("or rx_queues: {}", queues)};
    }
    return f;
}

/// The NUMA nodes of CPUs.
std::set<unsigned> nodes_of(const machine& m, const std::set<unsigned>& cpus) {
    std::set<unsigned> out;
    for (const std::string& name : m.names("/sys/devices/system/node")) {
        unsigned node = 0;
        if (name.compare(0, 4, "node") != 0) continue;
        std::from_chars(name.data() + 4, name.data() + name.size(), node);
        const auto there = parse_list(m.text("/sys/devices/system/node/" + name + "/cpulist"));
        if (std::any_of(cpus.begin(), cpus.end(), [&](unsigned c) { return there.count(c) != 0; }))
            out.insert(node);
    }
    return out;
}

/// Whether an IOMMU has a group of devices. vfio's mode without one makes groups, too (vfio_noiommu_group_alloc()).
bool has_iommu(const machine& m) {
    const std::string folder = "/sys/kernel/iommu_groups";
    const auto groups = m.names(folder);
    return std::any_of(groups.begin(), groups.end(), [&](const std::string& group) {
        return m.text(folder + "/" + group + "/name") != "vfio-noiommu";
    });
}

}  // namespace

void check_iommu(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    auto nics = nics_of(m, p);
    std::erase_if(nics, [&](const nic& n) { return !matters(n, p); });
    if (nics.empty()) return;
    if (has_iommu(m)) {
        out.push_back({.subject = "IOMMU", .text = "on"});
        return;
    }
    if (std::all_of(nics.begin(), nics.end(),
                    [](const nic& n) { return state::is_bifurcated(n.driver); })) {
        out.push_back(
            {.subject = "IOMMU",
             .text = "off, and not needed: DPDK uses these devices beside the kernel's driver"});
        return;
    }
    const bool unsafe = m.text("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode") == "Y";
    const std::string info = m.text("/proc/cpuinfo");
    const auto has = [&](std::string_view word) { return info.find(word) != std::string::npos; };
    out.push_back(
        {.level = unsafe ? severity::note : severity::warning,
         .subject = "IOMMU",
         .text = unsafe ? "off; vfio runs without it, for programs with CAP_SYS_RAWIO and "
                          "CAP_SYS_ADMIN, which turnpike.service lacks"
                        : "off: vfio-pci does not open devices",
         .reason = "vfio-pci gives a device to a program through the IOMMU, which keeps it out of "
                   "other memory",
         .remedy = {
             has("CPU implementer")  // AArch64's
                 ? "iommu.passthrough=1 on the kernel's command line, and the SMMU in the firmware"
                 : fmt::format(
                       "{} iommu=pt on the kernel's command line, and VT-d or AMD-Vi in the BIOS",
                       has("AuthenticAMD") ? "amd_iommu=on" : "intel_iommu=on"),
             "in a guest: a virtual IOMMU (QEMU: -device intel-iommu), or net_xsk",
             "in a guest without an IOMMU, for programs with CAP_SYS_RAWIO (vfio) and "
             "CAP_SYS_ADMIN (physical addresses), which turnpike.service lacks: echo Y > "
             "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"}});
}

void check_nics(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    const auto default_routes = default_route_interfaces(m);
    const auto nics = nics_of(m, p);
    for (const nic& n : nics)
        if (matters(n, p)) out.push_back(judge_driver(n, p, default_routes));
    for (const auto& port : p.ports)
        for (const std::string& address : state::pci_addresses_of(port.device)) {
            if (std::any_of(nics.begin(), nics.end(),
                            [&](const nic& n) { return n.address == address; }))
                continue;
            out.push_back(
                {.level = severity::error,
                 .subject = address,
                 .text = fmt::format("port '{}': there is no such network device", port.name),
                 .remedy = {"lspci -D lists them all"}});
        }
}

void check_pcie(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    for (const nic& n : nics_of(m, p)) {
        if (!carries_packets(n, p)) continue;
        judge_link(m, n, out);
        judge_config(m, n, out);
    }
}

void check_numa(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    if (p.cpus.empty() || !m.read("/sys/devices/system/node/node1/cpulist")) return;  // one node
    const auto nodes = nodes_of(m, p.cpus);
    if (nodes.size() > 1)
        out.push_back(
            {.level = severity::note,
             .subject = "nodes " + list_text(nodes),
             .text = "the lcores are on more than one node",
             .reason = "memory of another node takes half as long again (section 10.2, 2.4)"});
    const auto worker_nodes = nodes_of(m, p.workers);  // the main lcore touches no packet
    for (const nic& n : nics_of(m, p)) {
        const auto node = m.number(n.folder() + "/numa_node");
        if ((n.port.empty() && n.interface_port.empty()) || !node || p.workers.empty()) continue;
        const bool near = worker_nodes.count(static_cast<unsigned>(*node)) != 0;
        out.push_back(
            {.level = near ? severity::ok : severity::warning,
             .subject = n.label(),
             .text = near ? fmt::format("node {}, as its workers", *node)
                          : fmt::format("node {}, and no worker is there", *node),
             .reason = near ? "" : "each packet crosses between sockets (section 10.2, 2.4)",
             .remedy = near ? std::vector<std::string>{}
                            : std::vector<std::string>{fmt::format(
                                  "eal: {{args: \"-l ...\"}} with CPUs of {}",
                                  m.text(fmt::format("/sys/devices/system/node/node{}/cpulist",
                                                     *node)))}});
    }
}

void check_af_xdp(const machine& m, const plan& p, std::vector<diagnosis>& out) {
    const auto default_routes = default_route_interfaces(m);
    for (const auto& port : p.ports) {
        const std::string interface = interface_used_by(port.device);
        if (interface.empty()) continue;
        diagnosis f{.level = severity::error, .subject = interface};
        if (m.text("/sys/class/net/" + interface + "/ifindex").empty()) {
            f.text = fmt::format("port '{}': there is no such interface", port.name);
            f.remedy = {"ip -br link lists them all"};
        } else if (default_routes.count(state::interface_taken_by(port.device)) != 0) {
            f.text = fmt::format(
                "port '{}' would take the interface by which the default route leaves: the machine "
                "would be cut off",
                port.name);
            f.remedy = {
                "use another interface, or move the default route first: ip route replace default "
                "..."};
        } else if (port.device.starts_with("net_xsk")) {
            f = judge_xsk(m, port, interface);
        } else {
            continue;
        }
        out.push_back(std::move(f));
    }
}

}  // namespace turnpike::doctor
