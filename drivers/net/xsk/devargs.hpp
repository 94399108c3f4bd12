// SPDX-License-Identifier: BSD-3-Clause
// The device's arguments, as in "net_xsk0,iface=eth0,queues=2".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace turnpike::xsk {

/// zerocopy: in the NIC's driver, without copies. copy: the kernel copies. skb: on the kernel's generic
/// packets, any interface. auto_: zerocopy, copy, skb, the first that the interface has.
enum class bind_mode : uint8_t { auto_, zerocopy, copy, skb };

struct device_arguments {
    std::string iface{};
    uint32_t queues = 0;  ///< 0: all that the interface has from start_queue on
    uint32_t start_queue = 0;
    bind_mode mode = bind_mode::auto_;
    uint32_t busy_budget = 0;  ///< packets a poll; 0: no busy polling
    std::string filter{};      ///< file
    std::string xskmap{};      ///< path of a pinned map; the program is another's
    bool replace = false;
};

/// text  "key=value,key=value"
/// Errors  EINVAL, `object` is the argument, `text` what it takes
[[nodiscard]] result<device_arguments> parse_arguments(std::string_view text);

}  // namespace turnpike::xsk
