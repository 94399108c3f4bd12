// SPDX-License-Identifier: BSD-3-Clause
// Writes to files and pipes.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace turnpike {

/// Write all of a text to a blocking descriptor; on failure return false with errno set.
inline bool write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC;
        if (n <= 0) return false;
        text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
}

}  // namespace turnpike
