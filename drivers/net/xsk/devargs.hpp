// SPDX-License-Identifier: BSD-3-Clause
// Device arguments, for example "net_xsk0,iface=eth0,queues=2".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::xsk {

/// zerocopy: DMA into the UMEM, needs driver support. copy: the kernel copies each frame. skb:
/// generic XDP, works on any interface. auto_: the first of zerocopy, copy, skb that the interface
/// supports.
enum class bind_mode : uint8_t { auto_, zerocopy, copy, skb };

struct device_arguments {
    std::string iface{};
    uint32_t queues = 0;  ///< 0: every queue of the interface from start_queue on
    uint32_t start_queue = 0;
    bind_mode mode = bind_mode::auto_;
    uint32_t busy_budget = 0;  ///< packets per poll; 0: no busy polling
    std::string filter{};      ///< path of the filter file
    std::string xskmap{};  ///< path of a pinned XSKMAP; another process attaches the XDP program
    bool replace = false;
};

/// The arguments for `dpdk-pmdinfo`.
#define XSK_PARAMETERS                                                            \
    "iface=<interface> queues=<n> start_queue=<n> mode=<auto|zerocopy|copy|skb> " \
    "busy_budget=<packets> filter=<file> xskmap=<path> replace=<0|1>"

/// text  "key=value,key=value"
///
/// Errors  EINVAL: `object` is the argument, `text` the values it accepts
[[nodiscard]] result<device_arguments> parse_arguments(std::string_view text);

}  // namespace turnpike::xsk
