// SPDX-License-Identifier: BSD-3-Clause
#include "cell.hpp"

namespace turnpike::pcie_tool {

result<std::vector<cell>> price(const request& r) {
    using pcie::traffic_direction;
    std::vector<cell> cells;
    for (const auto& profile : r.profiles)
        for (const uint32_t frame : r.frames) {
            auto bill = pcie::cost(profile, r.link, {{{frame}}, r.burst}, r.slip);
            if (!bill) return tl::unexpected<error>(bill.error());
            cell c{.frame_bytes = frame,
                   .ethernet_gbps = r.ethernet_gbps.value_or(profile.ethernet_gbps),
                   .bill = std::move(*bill),
                   .tx = {},
                   .rx = {},
                   .both = {},
                   .with_ethernet = {}};
            c.tx = achievable(c.bill, traffic_direction::tx);
            c.rx = achievable(c.bill, traffic_direction::rx);
            c.both = achievable(c.bill, traffic_direction::both);
            c.with_ethernet = achievable(c.bill, traffic_direction::both, c.ethernet_gbps);
            cells.push_back(std::move(c));
        }
    return cells;
}

}  // namespace turnpike::pcie_tool
