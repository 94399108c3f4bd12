// SPDX-License-Identifier: BSD-3-Clause
// The built-in profiles. Sources: profile.hpp.
#include <array>

#include "pcie/profile.hpp"

namespace turnpike::pcie {
namespace {

constexpr fetch one_at_a_time{.bytes = 16, .batch = 1, .policy = fetch_policy::full_batch};
constexpr write_back no_write_back{.policy = write_back_policy::none};
constexpr doorbell no_doorbell{.policy = doorbell_policy::none};
constexpr doorbell one_per_32_packets{.policy = doorbell_policy::every, .packets = 32};
// DPDK's Intel drivers split longer bursts into pieces of tx_rs_thresh.
constexpr doorbell one_per_burst_of_32{.policy = doorbell_policy::per_burst, .packets = 32};
constexpr write_back report_status_every_32{.policy = write_back_policy::every, .packets = 32};

const char* const rs_on_burst_end =
    "the simple and vector transmit paths: the full-featured path also requests a write-back for "
    "the last packet of each burst";
const char* const rx_lines =
    "43 % of the receive descriptors are written in whole lines, as measured on an X710 at 29.8 "
    "Mpps with descriptors of 16 bytes (Intel 2017, section 8.5); more with 32 bytes (not "
    "measured), "
    "fewer at low rates";

nic_profile data_only() {
    const direction_profile nothing_but_data{
        .fetch = {.bytes = 0}, .write_back = no_write_back, .doorbell = no_doorbell};
    return {.name = "data-only",
            .summary = "frames alone, no descriptors or registers: Figure 1's Effective PCIe BW",
            .drivers = {},
            .ethernet_gbps = 40,
            .rx = nothing_but_data,
            .tx = nothing_but_data,
            .known = {"the PCIe limit of every NIC"},
            .assumptions = {}};
}

nic_profile simple() {
    return {
        .name = "simple",
        .summary =
            "the paper's Simple NIC: every packet moves its own descriptor, registers "
            "and interrupt",
        .drivers = {},
        .ethernet_gbps = 40,
        .rx = {.fetch = one_at_a_time, .packets_per_interrupt = 1, .packets_per_register_read = 1},
        .tx = {.fetch = one_at_a_time,
               .write_back = no_write_back,
               .packets_per_interrupt = 1,
               .packets_per_register_read = 1},
        .known = {"section 3 of the paper lists its transactions"},
        .assumptions = {"the paper's textbook NIC; no product works this way"}};
}

nic_profile niantic_kernel() {
    return {.name = "niantic-kernel",
            .summary = "the paper's Modern NIC (kernel driver): Intel 82599, interrupts moderated",
            .drivers = {},
            .ethernet_gbps = 40,
            .rx = {.fetch = one_at_a_time,
                   .doorbell = one_per_32_packets,
                   .refill_packets = 32,
                   .packets_per_interrupt = 32,
                   .packets_per_register_read = 8},
            .tx = {.fetch = {.batch = 40, .policy = fetch_policy::full_batch},
                   .write_back = {.policy = write_back_policy::batch, .packets = 8},
                   .packets_per_interrupt = 32,
                   .packets_per_register_read = 1},
            .known = {"82599 fetches up to 40 transmit descriptors and writes back up to 8"},
            .assumptions = {"transmit fetches and write-backs have the maximum size",
                            "one interrupt per 32 packets per direction, a head register read per "
                            "packet sent and per 8 received"}};
}

nic_profile niantic_dpdk() {
    return {.name = "niantic-dpdk",
            .summary = "the paper's Modern NIC (DPDK driver): Intel 82599, polled in host memory",
            .drivers = {},
            .ethernet_gbps = 40,
            .rx = {.fetch = one_at_a_time, .doorbell = one_per_32_packets, .refill_packets = 32},
            .tx = {.fetch = {.batch = 40, .policy = fetch_policy::full_batch},
                   .write_back = {.policy = write_back_policy::batch, .packets = 8},
                   .doorbell = one_per_32_packets},
            .known = {"no interrupts and no register reads; 82599 fetches up to 40 transmit "
                      "descriptors and writes back up to 8"},
            .assumptions = {"transmit fetches and write-backs have the maximum size",
                            "8 transmit descriptors are written back per 8 packets, although the "
                            "real driver requests one per 32 (profile ixgbe)"}};
}

nic_profile ixgbe() {
    return {
        .name = "ixgbe",
        .summary = "Intel 82599, X540, X550 under DPDK's net_ixgbe",
        .drivers = {"net_ixgbe", "net_ixgbe_vf"},
        .ethernet_gbps = 10,
        .rx = {.fetch = {.batch = 8}, .doorbell = one_per_32_packets, .refill_packets = 32},
        .tx = {.fetch = {.batch = 32},
               .write_back = report_status_every_32,
               .doorbell = one_per_burst_of_32},
        .known = {"16-byte descriptors; receive refill and tail write per 32, one transmit tail "
                  "write per burst, RS every 32; PTHRESH 8 (receive) and 32 (transmit)"},
        .assumptions = {"a fetch reads PTHRESH descriptors",
                        "each receive descriptor is written back separately", rs_on_burst_end}};
}

nic_profile i40e() {
    return {.name = "i40e",
            .summary = "Intel X710, XL710, XXV710 under DPDK's net_i40e",
            .drivers = {"net_i40e"},
            .ethernet_gbps = 40,
            .rx = {.fetch = {.bytes = 32, .batch = 4},
                   .write_back = {.policy = write_back_policy::by_line,
                                  .bytes = 32,
                                  .full_line_share = 0.43},
                   .doorbell = one_per_32_packets,
                   .refill_packets = 32},
            .tx = {.fetch = {.batch = 32},
                   .write_back = report_status_every_32,
                   .doorbell = one_per_burst_of_32},
            .known = {"receive descriptors of 32 bytes, transmit of 16; receive refill and tail "
                      "write per 32, one transmit tail write per burst, RS every 32"},
            .assumptions = {"fetches of 4 receive and up to 32 transmit descriptors", rx_lines,
                            rs_on_burst_end}};
}

nic_profile ice() {
    nic_profile profile = i40e();
    profile.name = "ice";
    profile.summary = "Intel E810 under DPDK's net_ice";
    profile.drivers = {"net_ice"};
    profile.ethernet_gbps = 100;
    profile.rx.doorbell.packets = 64;
    profile.known = {"as i40e, but the receive tail is written per 64"};
    return profile;
}

nic_profile e1000() {
    return {
        .name = "e1000",
        .summary = "Intel 82574 family under DPDK's net_e1000_em",
        .drivers = {"net_e1000_em"},
        .ethernet_gbps = 1,
        .rx = {.fetch = {.batch = 8},
               .doorbell = {.policy = doorbell_policy::burst_end, .packets = 33}},
        .tx = {.fetch = {.batch = 32},
               .write_back = report_status_every_32,
               .doorbell = {.policy = doorbell_policy::per_burst, .packets = 0}},
        .known = {"16-byte descriptors; the receive tail is written after a burst once more than "
                  "rx_free_thresh are held, the transmit tail once per burst; RS every 32"},
        .assumptions = {"rx_free_thresh 32, as turnpike sets it (the driver's default is 0: "
                        "the receive tail after every burst with a packet)",
                        "fetches of up to 8 receive and 32 transmit descriptors",
                        "each receive descriptor is written back separately"}};
}

nic_profile igb() {
    return {
        .name = "igb",
        .summary = "Intel 82580, I350, I210 under DPDK's net_e1000_igb",
        .drivers = {"net_e1000_igb"},
        .ethernet_gbps = 1,
        .rx = {.fetch = {.batch = 8},
               .write_back = {.policy = write_back_policy::batch, .packets = 4},
               .doorbell = {.policy = doorbell_policy::burst_end, .packets = 33}},
        .tx = {.fetch = {.batch = 8},
               .write_back = {.policy = write_back_policy::batch, .packets = 16},
               .doorbell = {.policy = doorbell_policy::per_burst, .packets = 0}},
        .known = {"16-byte descriptors; the receive tail is written after a burst once more than "
                  "32 are held, the transmit tail once per burst; RS on every packet, WTHRESH 4 "
                  "(receive) and 16 (transmit), on 82576 1 and 1"},
        .assumptions = {"write-backs wait until WTHRESH descriptors are done",
                        "fetches of up to 8 descriptors (PTHRESH)"}};
}

/// Without what DPDK's driver turns on where it can.
nic_profile mlx5_plain() {
    return {.name = "mlx5-plain",
            .summary = "NVIDIA ConnectX-4, or later with rxq_cqe_comp_en=0,txq_mpw_en=0",
            .drivers = {},
            .ethernet_gbps = 100,
            .rx = {.fetch = {.batch = 4},
                   .write_back = {.bytes = 64},
                   .doorbell = no_doorbell,
                   .refill_packets = 64},
            .tx = {.fetch = {.bytes = 64, .batch = 4},
                   .write_back = {.policy = write_back_policy::every, .bytes = 64, .packets = 32},
                   .doorbell = {.policy = doorbell_policy::per_burst, .packets = 0, .bytes = 8}},
            .known = {"receive entries of 16 bytes, completions of 64, transmit entries of 64; the "
                      "receive doorbell is a record in host memory, the transmit doorbell 8 bytes "
                      "per burst; one transmit completion per 32 packets"},
            .assumptions = {"no frames inlined in transmit entries",
                            "fetches of up to 4 entries; reads of the doorbell record are not "
                            "counted"}};
}

/// The defaults of mlx5.c (cqe_comp 1, mps as the device has it); mlx5_prm.h: mlx5_mini_cqe8, MLX5_EMPW_MAX_PACKETS.
nic_profile mlx5() {
    nic_profile profile = mlx5_plain();
    profile.name = "mlx5";
    profile.summary = "NVIDIA ConnectX-5 and later under DPDK's mlx5";
    profile.drivers = {"mlx5_pci"};
    profile.rx.write_back = {.policy = write_back_policy::batch, .bytes = 8, .packets = 8};
    profile.tx.fetch = {.bytes = 16, .batch = 32};
    profile.known = {
        "receive entries of 16 bytes; compressed completions of 8 bytes, 8 in a line; a transmit "
        "entry of up to 32 packets, 16 bytes each; the receive doorbell is a record in host "
        "memory, "
        "the transmit doorbell 8 bytes per burst; one transmit completion per 32 packets"};
    profile.assumptions = {
        "completions are compressed in whole lines, and the 64-byte one in front of them is not "
        "counted, nor the 32 bytes in front of a transmit entry's packets; the device compresses "
        "under load only, and not with RX timestamps or LRO (mlx5-plain)",
        "no frames inlined in transmit entries (the driver does from 8 transmit queues on); "
        "fetches "
        "of up to 4 receive entries; reads of the doorbell record are not counted"};
    return profile;
}

nic_profile virtio() {
    const fetch split_ring{.batch = 8, .index_bytes = 2};
    const write_back used_ring{
        .policy = write_back_policy::batch, .bytes = 8, .index_bytes = 2, .packets = 8};
    return {.name = "virtio",
            .summary = "a virtio-net device in hardware under DPDK's net_virtio, split ring",
            .drivers = {"net_virtio"},
            .ethernet_gbps = 0,
            .rx = {.fetch = split_ring,
                   .write_back = used_ring,
                   .doorbell = {.policy = doorbell_policy::per_burst, .packets = 0, .bytes = 2},
                   .prefix_bytes = 12},
            .tx = {.fetch = split_ring,
                   .write_back = used_ring,
                   .doorbell = {.policy = doorbell_policy::per_burst, .packets = 0, .bytes = 2},
                   .prefix_bytes = 12},
            .known = {"descriptors of 16 bytes, 2 in the avail ring and 8 in the used ring beside "
                      "each; refill and a receive notification after every burst with packets, a "
                      "transmit notification per burst, each unless the device suppresses it"},
            .assumptions = {"a device behind a PCIe link, which enables every notification (an "
                            "emulated one, without a link, does not: virtio-qemu)",
                            "the driver's default receive paths: the vectorized one refills and "
                            "notifies per 32",
                            "fetches and used-ring writes of 8, each with one write of used.idx; "
                            "reads of avail.idx are not counted",
                            "a 12-byte header before each frame, in the same buffer"}};
}

nic_profile virtio_qemu() {
    nic_profile profile = virtio();
    profile.name = "virtio-qemu";
    profile.summary = "QEMU's virtio-net under DPDK's net_virtio, split ring";
    profile.drivers = {};
    profile.rx.doorbell = no_doorbell;
    profile.known.emplace_back(
        "QEMU suppresses receive notifications while it has buffers, and transmit notifications "
        "while it sends (counted at QEMU 7.2: doc/vm-observer.md)");
    profile.assumptions[0] =
        "modelled as a device on a PCIe link, which it is not; it completes a burst before the "
        "next one (otherwise it suppresses the next notification)";
    return profile;
}

nic_profile vmxnet3() {
    return {
        .name = "vmxnet3",
        .summary = "VMware's paravirtual NIC under DPDK's net_vmxnet3",
        .drivers = {"net_vmxnet3"},
        .ethernet_gbps = 0,
        .rx = {.fetch = {.batch = 4}, .doorbell = no_doorbell},
        .tx = {.fetch = {.batch = 4},
               .doorbell = {.policy = doorbell_policy::per_burst, .packets = 0}},
        .known = {"descriptors of 16 bytes and completions of 16; a transmit tail write per "
                  "burst; the receive tail only if the hypervisor requests it"},
        .assumptions = {"modelled as a device on a PCIe link, which it is not; the hypervisor "
                        "never requests the receive tail",
                        "one completion per packet per direction; fetches of up to 4 descriptors"}};
}

}  // namespace

std::span<const nic_profile> builtin_profiles() {
    static const std::array profiles{
        data_only(),  simple(), niantic_kernel(), niantic_dpdk(), ixgbe(),
        i40e(),       ice(),    e1000(),          igb(),          mlx5(),
        mlx5_plain(), virtio(), virtio_qemu(),    vmxnet3()};
    return profiles;
}

}  // namespace turnpike::pcie
