// SPDX-License-Identifier: BSD-3-Clause
// Sockets of this process by UMEM memory. A new socket on the same memory shares their UMEM
// (XDP_SHARED_UMEM), so that the kernel pins and charges its pages once.
#pragma once

#include <string>
#include <vector>

#include "devargs.hpp"
#include "frames.hpp"

namespace turnpike::xsk {

/// The key for sharing. A shared socket inherits zero-copy and cannot set bind flags, and
/// zero-copy depends on the driver: interfaces of different drivers do not share.
struct umem_kind {
    frame_layout frames{};
    bind_mode mode = bind_mode::auto_;
    bool multi_buffer = false;
    std::string driver{};
    friend bool operator==(const umem_kind&, const umem_kind&) = default;
};

/// Threads  any
[[nodiscard]] std::vector<int> sharers_of(const umem_kind& kind);
void add_sharer(const umem_kind& kind, int fd);
void remove_sharer(int fd) noexcept;

}  // namespace turnpike::xsk
