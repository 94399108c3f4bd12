// SPDX-License-Identifier: BSD-3-Clause
// Targets of routes that tests need.
#pragma once

#include <utility>

#include "state/routes.hpp"

namespace turnpike::state {

/// A target with one neighbour.
[[nodiscard]] inline route_target target_via(const ip_address& via, std::string interface) {
    return {.members = {{.via = via, .interface = std::move(interface)}}};
}
/// A target with one recursive gateway.
[[nodiscard]] inline route_target target_beyond(const ip_address& via) {
    return {.members = {{.via = via}}, .recursive = true};
}

}  // namespace turnpike::state
