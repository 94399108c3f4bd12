// SPDX-License-Identifier: BSD-3-Clause
// Which sockets of this process have a UMEM of the same memory, so that one more can use theirs
// (XDP_SHARED_UMEM): its pages are pinned and counted once.
#pragma once

#include <string>
#include <vector>

#include "devargs.hpp"
#include "frames.hpp"

namespace turnpike::xsk {

/// What must be the same. A shared socket has no flags of its own and takes over whether there is
/// zero-copy, which the drivers decide: so interfaces of different drivers do not share.
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
