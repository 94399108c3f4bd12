// SPDX-License-Identifier: BSD-3-Clause
// A port: one ethdev from its device string to its queues, closed on destruction.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "packet/headers.hpp"

struct rte_eth_dev_info;
struct rte_mempool;

namespace turnpike::rxtx {

enum class offload : uint8_t {
    off,
    if_supported,
    required  ///< a device without it is refused
};

struct port_settings {
    std::string name{};    ///< for messages
    std::string where{};   ///< "file:line" of its configuration, for messages
    std::string device{};  ///< EAL vdev string ("net_tap0,iface=x") or PCI address
    uint16_t mtu = 1500;   ///< bytes of the Ethernet payload
    uint16_t rx_queues = 1;
    uint16_t tx_queues = 1;  ///< required number
    uint16_t tx_queues_wanted =
        0;  ///< use this number if the device supports it; 0: the required one
    uint16_t descriptors = 1024;  ///< per queue, rounded to the driver's limits
    bool promiscuous = false;
    bool several_buffers = false;       ///< TX must support multi-segment packets
    bool udp_sums = false;              ///< UDP checksum offload, RX and TX, if the device has them
    offload timestamps = offload::off;  ///< RX timestamps
    rte_mempool* pool = nullptr;        ///< RX buffers; one pool for all ports (MBUF_FAST_FREE)
};

/// True if a frame of the MTU needs more than one buffer of the pool.
[[nodiscard]] bool takes_several_buffers(const std::string& device, uint16_t mtu,
                                         rte_mempool* pool) noexcept;

/// Threads  control only, except rx_burst/tx_burst on the ID by the queue's worker.
class port {
  public:
    /// Probe the device (or attach to one created by EAL's options), configure it, and set up its
    /// queues. It is not started: nothing is received.
    ///
    /// Errors  ENODEV: no such device; EBUSY: it is a port already; EINVAL: it does not support the
    ///         settings; else the driver's
    [[nodiscard]] static result<port> open(const port_settings& settings);

    /// Receive from now on: frames that came before are not received where they may be another interface's
    /// (driver_facts::receives_others).
    ///
    /// Errors  the driver's
    [[nodiscard]] result<void> start();
    /// A port without a device: as one after close().
    [[nodiscard]] static port without_device(const std::string& name);
    /// Whether the device is there, and a driver takes it: EAL has it, or a probe succeeds, after which it is removed again.
    ///
    /// Errors  ENXIO: its interface or PCI address is not there, found without a probe; EFAULT: no bus and no loaded
    /// driver takes the name; else the probe's
    /// Threads as open()
    [[nodiscard]] static result<void> find(const std::string& device);
    /// Check whether the device, with its arguments, would support these settings. It does not
    /// check limits that ethdev does not report.
    ///
    /// Errors  EINVAL: it does not support the settings
    [[nodiscard]] result<void> could_have(const port_settings& settings) const;
    /// The driver reported removal (RTE_ETH_EVENT_INTR_RMV): unplugged, or unbound; or a reset.
    [[nodiscard]] bool vanished() const noexcept;
    /// The driver reported a reset (RTE_ETH_EVENT_INTR_RESET), as a virtual function's by its physical function: the device
    /// works again when it has been closed and opened.
    [[nodiscard]] bool was_reset() const noexcept;
    /// Receive these multicast addresses; all-multicast mode is used where the driver has no such filter, or its filter is full.
    /// A driver with neither delivers all frames. Errors  the driver's
    [[nodiscard]] result<void> listen_to(std::span<const packet::mac_address> groups);
    /// Change the MTU while the port runs. Errors  EBUSY: its buffers were set up for shorter
    /// frames; else the driver's
    [[nodiscard]] result<void> change_mtu(uint16_t mtu);
    /// Set promiscuous mode; a driver without it receives all frames.
    ///
    /// Errors  the driver's
    [[nodiscard]] result<void> set_promiscuous(bool on);
    /// The device inserts UDP checksums on request (RTE_MBUF_F_TX_UDP_CKSUM).
    [[nodiscard]] bool puts_udp_sums_in() const noexcept;
    /// The device verifies UDP checksums (RTE_MBUF_F_RX_L4_CKSUM_GOOD).
    [[nodiscard]] bool checks_udp_sums() const noexcept;
    /// The device was asked for RX timestamps (rte_mbuf_dyn_rx_timestamp_register()).
    [[nodiscard]] bool stamps_frames() const noexcept;
    /// The device receives frames with 802.1Q tags only in promiscuous mode (set_promiscuous()).
    [[nodiscard]] bool filters_tags() const noexcept;
    /// Take the link of a started port down or up, if the driver supports it: a link that is down receives nothing.
    void set_link(bool up) noexcept;
    /// After it returns, nothing is received or sent; buffers in the rings return to the pool at
    /// close.
    void stop() noexcept;
    /// Stop and close the device. Later queries report no link and zero counters; later settings
    /// are ignored.
    void close() noexcept;
    /// The device alone, to be closed by the answer's destruction. This object is as after close().
    [[nodiscard]] port detach() noexcept;

    port(port&& other) noexcept;
    port& operator=(port&& other) noexcept;
    ~port();

    [[nodiscard]] uint16_t id() const noexcept { return id_; }
    [[nodiscard]] uint16_t tx_queues() const noexcept { return tx_queues_; }
    /// Its TX queues must be called every tx_call_ms (driver_facts.hpp), with or without packets.
    [[nodiscard]] bool needs_periodic_tx() const noexcept;
    /// Sent packets stay in its TX rings until later ones are sent: the driver cannot free them on request
    /// (rte_eth_tx_done_cleanup()). False before start(), and for a driver without rings of descriptors, which copies packets.
    [[nodiscard]] bool keeps_sent() const noexcept { return keeps_sent_; }
    /// TX supports packets in several buffers.
    [[nodiscard]] bool sends_several_buffers() const noexcept { return several_buffers_; }
    /// A packet in several buffers must not be sent: the driver would truncate it (ixgbe, i40e), or put only its first buffer
    /// back into the pool.
    [[nodiscard]] bool sends_one_buffer() const noexcept;
    /// Frames that are sent must have so many bytes; 0: any.
    [[nodiscard]] uint32_t min_tx_bytes() const noexcept;
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& driver() const noexcept { return driver_; }
    /// "0000:3b:00.0"; empty if it is not a PCI device.
    [[nodiscard]] std::string pci_address() const;
    [[nodiscard]] packet::mac_address mac() const noexcept;
    [[nodiscard]] bool link_up() const noexcept { return link_up(id_); }
    /// The same of an open port's ID. May wait: drivers ask the kernel for it under its RTNL lock (net_xsk, mlx5).
    /// Threads  any, while the port is not closed
    [[nodiscard]] static bool link_up(uint16_t id) noexcept;
    /// NUMA node; -1: the device's bus has none, or the kernel does not report it.
    [[nodiscard]] int node() const noexcept;
    /// Link speed; 0: the device does not report it.
    [[nodiscard]] uint32_t link_mbps() const noexcept;
    struct rx_losses {
        uint64_t missed = 0;  ///< packets that the device dropped for lack of RX descriptors
        uint64_t no_buffer =
            0;  ///< failed allocations of buffers, which may be repeated for one packet
    };
    /// A device that does not answer, or is gone, has the last known losses.
    [[nodiscard]] rx_losses losses() const noexcept;
    /// The driver's extended statistics whose names begin with `prefix`.
    [[nodiscard]] std::map<std::string, uint64_t> xstats(std::string_view prefix) const;

  private:
    static constexpr uint16_t none = UINT16_MAX;

    port() = default;
    result<void> check(const port_settings& settings, const rte_eth_dev_info& info,
                       bool& scatter) const;
    result<void> configure(const port_settings& settings);
    result<void> set_up_queues(const port_settings& settings);
    result<void> set_mtu(uint16_t mtu);
    /// Free the packets in the RX rings, and reset the counters.
    void empty_receive_rings() noexcept;

    uint16_t id_ = none;
    bool started_ = false;
    uint16_t tx_queues_ = 0;
    uint32_t room_bytes_ = 0;  ///< capacity of one buffer
    uint16_t descriptors_rx_ = 0, descriptors_tx_ = 0;
    uint64_t rx_offloads_ = 0, tx_offloads_ = 0;
    bool several_buffers_ = false;
    bool virtual_ = false;  ///< its driver itself sends packets, as they are
    bool keeps_sent_ = false;
    mutable rx_losses losses_{};  ///< the last known ones
    std::string name_{}, where_{}, device_{}, driver_{};
};

}  // namespace turnpike::rxtx
