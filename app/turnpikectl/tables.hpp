// SPDX-License-Identifier: BSD-3-Clause
// Results that are more than a table of one list.
#pragma once

#include "commands.hpp"

namespace turnpike::ctl {

/// One row per port and source, in 64-byte bus lines.
std::string pcie_text(const given& g, const nlohmann::json& result);
/// The workers, the limiting resource, and the headroom of each resource.
std::string cost_text(const given& g, const nlohmann::json& result);
/// Local time, and the command; unsaved work, and the time of a change that awaits confirmation.
std::string history_text(const given& g, const nlohmann::json& result);
/// A row per drop reason, the most packets first.
std::string drops_text(const given& g, const nlohmann::json& result);
/// Bindings, and of one list its rules with their positions.
std::string acl_text(const given& g, const nlohmann::json& result);
/// Routes or next hops; below a group, a row per member.
std::string routes_text(const given& g, const nlohmann::json& result);
std::string next_hops_text(const given& g, const nlohmann::json& result);
/// The result of a lookup; of a group, a table of its members.
std::string route_text(const given& g, const nlohmann::json& result);
/// Bridges with their members and VLANs.
std::string bridges_text(const given& g, const nlohmann::json& result);
/// A row per VLAN of a bridge.
std::string vlans_text(const given& g, const nlohmann::json& result);
/// Host interfaces, and the state of netlink.
std::string control_plane_text(const given& g, const nlohmann::json& result);

}  // namespace turnpike::ctl
