// SPDX-License-Identifier: BSD-3-Clause
// Devices of ports that a client of the control socket may configure. Drivers open the files and run the programs that a device's
// arguments name while they probe it, with turnpike's rights.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "sources/socket.hpp"
#include "state/configuration.hpp"

namespace turnpike::control {

/// The first argument of a device string that names a file or a program; empty: none. Sockets of net_memif, net_vhost and
/// net_virtio_user are permitted.
[[nodiscard]] std::string_view privileged_argument(std::string_view device) noexcept;

/// Errors  EACCES: a port has such a device, which it does not have in `now`, and the client is neither root nor turnpike's user
[[nodiscard]] result<void> check_devices_of(const sources::socket_peer& client,
                                            const state::configuration& now,
                                            const state::configuration& wanted);

}  // namespace turnpike::control
