// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/frame_room.hpp"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/hardware.hpp"
#include "rxtx/driver_facts.hpp"
#include "rxtx/port.hpp"

namespace turnpike::rxtx {
namespace {

/// Frame bytes that fit one buffer.
uint32_t room_of(const driver_facts& facts, rte_mempool* pool) noexcept {
    return std::min(rte_pktmbuf_data_room_size(pool), facts.max_rx_buffer_bytes) -
           uint32_t{facts.rx_headroom_bytes};
}

/// net_af_packet copies from the kernel's ring slots and does not detect frames that the kernel
/// truncated to a slot: so the slot must hold the longest frame.
std::string af_packet_shortage(const port_settings& settings, uint32_t room) {
    constexpr uint32_t default_slot = 2048;  // DFLT_FRAME_SIZE of rte_eth_af_packet.c
    constexpr uint32_t tpacket2_header = 32;
    constexpr uint32_t slot_header = 72;  // TPACKET2_HDRLEN and the kernel's alignment of the data
    const std::string given(device_argument(settings.device, "framesz"));
    const auto slot = given.empty()
                          ? default_slot
                          : static_cast<uint32_t>(std::strtoul(given.c_str(), nullptr, 10));
    const uint32_t needed = settings.mtu + frame_overhead_bytes + slot_header;
    if (slot < needed)
        return "net_af_packet would truncate frames silently: for mtu " +
               std::to_string(settings.mtu) + " give the device framesz=N with N at least " +
               std::to_string(needed) +
               " (a multiple of 16; blocksz a multiple of N and of the page size)";
    if (slot - tpacket2_header > room)
        return "net_af_packet needs buffers as long as its slots: for framesz " +
               std::to_string(slot) + " set mempool.buffer_size to at least " +
               std::to_string(slot - tpacket2_header + RTE_PKTMBUF_HEADROOM);
    const std::string interface = kernel_interface_of(settings.device);
    uint32_t interface_mtu = 0;
    std::ifstream("/sys/class/net/" + interface + "/mtu") >> interface_mtu;
    if (settings.mtu > RTE_ETHER_MTU && interface_mtu > settings.mtu)
        return "interface " + interface + " has mtu " + std::to_string(interface_mtu) +
               ", more than the configured " + std::to_string(settings.mtu) +
               ": they must be equal, or net_af_packet would truncate frames silently";
    return {};
}

}  // namespace

uint16_t largest_mtu(const rte_eth_dev_info& info) noexcept {
    if (info.max_mtu != UINT16_MAX) return info.max_mtu;
    // The driver does not set max_mtu: ethdev then derives it from the longest frame.
    const uint32_t mtu = info.max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN;
    return static_cast<uint16_t>(std::min<uint32_t>(mtu, UINT16_MAX));
}

bool takes_several_buffers(const std::string& device, uint16_t mtu, rte_mempool* pool) noexcept {
    // A virtual device's string begins with its driver's name; other devices use the defaults.
    return mtu + frame_overhead_bytes > room_of(facts_of(device), pool);
}

std::string frame_room_shortage(const port_settings& settings, const rte_eth_dev_info& info,
                                bool& scatter) {
    scatter = false;
    const std::string driver = info.driver_name;
    const driver_facts& facts = facts_of(driver);
    if (settings.mtu > largest_mtu(info) && !facts.understates_mtu)
        return driver + " takes an mtu of at most " + std::to_string(largest_mtu(info));
    const uint32_t frame = settings.mtu + frame_overhead_bytes;
    const uint32_t room = room_of(facts, settings.pool);
    if (frame > room) {
        scatter = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
        if (!scatter)
            return driver + " needs a frame in one buffer: for mtu " +
                   std::to_string(settings.mtu) + " set mempool.buffer_size to at least " +
                   std::to_string(frame + RTE_PKTMBUF_HEADROOM);
    }
    return driver == "net_af_packet" ? af_packet_shortage(settings, room) : std::string();
}

}  // namespace turnpike::rxtx
