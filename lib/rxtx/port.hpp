// SPDX-License-Identifier: BSD-3-Clause
// A port: one ethdev from its device string to its queues, closed when it goes out of scope.
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

struct port_settings {
    std::string name{};    ///< for messages
    std::string where{};   ///< "file:line" of its configuration, for messages
    std::string device{};  ///< EAL vdev string ("net_tap0,iface=x") or PCI address
    uint16_t mtu = 1500;   ///< bytes of the Ethernet payload
    uint16_t rx_queues = 1;
    uint16_t tx_queues = 1;         ///< that are needed
    uint16_t tx_queues_wanted = 0;  ///< taken where the device has so many; 0: those needed
    uint16_t descriptors = 1024;    ///< per queue, rounded as the driver asks
    bool promiscuous = false;
    bool several_buffers = false;  ///< it is given packets in more than one, from any port
    bool tags = false;      ///< 802.1Q tags are taken out and put in by the device, where it can
    bool udp_sums = false;  ///< UDP checksums are put in and checked by the device, where it can
    rte_mempool* pool = nullptr;  ///< receives into it; one pool for all ports (MBUF_FAST_FREE)
};

/// Do two device strings mean one thing that only one port can have: the same device, or two on one of the
/// kernel's interfaces ("iface=")?
[[nodiscard]] bool same_hardware(const std::string& a, const std::string& b);

/// Does a frame of a device's MTU take more than one buffer of a pool?
[[nodiscard]] bool takes_several_buffers(const std::string& device, uint16_t mtu,
                                         rte_mempool* pool) noexcept;

/// Threads  control only, but for rx_burst/tx_burst on the id by the queue's worker.
class port {
  public:
    /// Probe the device (or take it, where EAL's own options created it), configure it, set up its
    /// queues. Not started yet: nothing is received.
    /// Errors  ENODEV: no such device; EBUSY: it is a port already; EINVAL: it cannot do what the settings ask; the driver's own
    [[nodiscard]] static result<port> open(const port_settings& settings);

    /// Errors  the driver's
    [[nodiscard]] result<void> start();
    /// Could the device as it is, with its arguments, be opened with these settings instead? What only
    /// the driver knows is not asked.
    /// Errors  EINVAL: it cannot do what the settings ask
    [[nodiscard]] result<void> could_have(const port_settings& settings) const;
    /// The device says that it is gone (RTE_ETH_EVENT_INTR_RMV): unplugged, or unbound.
    [[nodiscard]] bool vanished() const noexcept;
    /// Receive these multicast addresses; a driver that cannot choose receives all.
    void listen_to(std::span<const packet::mac_address> groups) noexcept;
    /// Another MTU, while it runs. Errors  EBUSY: its buffers were set up for shorter frames; the
    /// driver's
    [[nodiscard]] result<void> change_mtu(uint16_t mtu);
    /// Take every frame, or only those to its own addresses; a driver without the switch takes all.
    /// Errors  the driver's
    [[nodiscard]] result<void> set_promiscuous(bool on);
    /// Have the device take 802.1Q tags out of frames (RTE_MBUF_F_RX_VLAN_STRIPPED), or not. One that was not
    /// opened for tags, or cannot, leaves them in.
    /// Errors  EBUSY: it was opened for tags, and its driver cannot leave them in while it runs
    result<void> take_tags_out(bool on);
    /// The device puts tags into frames that ask for it (RTE_MBUF_F_TX_VLAN).
    [[nodiscard]] bool puts_tags_in() const noexcept;
    /// The device puts UDP checksums into frames that ask for it (RTE_MBUF_F_TX_UDP_CKSUM).
    [[nodiscard]] bool puts_udp_sums_in() const noexcept;
    /// It says of frames whether theirs are right (RTE_MBUF_F_RX_L4_CKSUM_GOOD).
    [[nodiscard]] bool checks_udp_sums() const noexcept;
    /// Frames with 802.1Q tags come in only while it takes every frame (set_promiscuous()).
    [[nodiscard]] bool filters_tags() const noexcept;
    /// Let nothing more in, where the driver can; for the end.
    void quiet() noexcept;
    /// Nothing is received or sent after this; buffers in the rings go back to the pool at close.
    void stop() noexcept;
    /// Stop, and give the device back. What is asked of it afterwards is answered as of one that has no
    /// link and counts nothing; what it is told is passed over.
    void close() noexcept;

    port(port&& other) noexcept;
    port& operator=(port&& other) noexcept;
    ~port();

    [[nodiscard]] uint16_t id() const noexcept { return id_; }
    [[nodiscard]] uint16_t tx_queues() const noexcept { return tx_queues_; }
    /// Its TX queues are to be called every tx_call_ms (driver_facts.hpp), with packets or without.
    [[nodiscard]] bool sends_its_own() const noexcept;
    /// May it be given packets in several buffers?
    [[nodiscard]] bool sends_several_buffers() const noexcept { return several_buffers_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& driver() const noexcept { return driver_; }
    /// "0000:3b:00.0"; empty for what is not on a PCI bus.
    [[nodiscard]] std::string pci_address() const;
    [[nodiscard]] packet::mac_address mac() const noexcept;
    [[nodiscard]] bool link_up() const noexcept;
    /// NUMA; -1: the device is on no bus that has nodes, or the kernel does not say.
    [[nodiscard]] int node() const noexcept;
    /// As the device says; 0: it does not.
    [[nodiscard]] uint32_t link_mbps() const noexcept;
    /// Packets the device dropped because nobody took them or no buffer was there.
    [[nodiscard]] uint64_t rx_missed() const noexcept;
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

    uint16_t id_ = none;
    bool started_ = false;
    uint16_t tx_queues_ = 0;
    uint32_t room_bytes_ = 0;  ///< of a frame in one buffer
    uint16_t descriptors_rx_ = 0, descriptors_tx_ = 0;
    uint64_t rx_offloads_ = 0, tx_offloads_ = 0;
    bool several_buffers_ = false;
    std::string name_{}, where_{}, device_{}, driver_{};
};

}  // namespace turnpike::rxtx
