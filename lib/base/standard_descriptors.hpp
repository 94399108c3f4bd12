// SPDX-License-Identifier: BSD-3-Clause
// Standard input, output and error of a program that was started without them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace turnpike {

/// Opens each of the descriptors 0 to 2 that is closed, else the next socket, device or file that is opened becomes standard
/// output, and text is printed into it. Reads from them find the end of the file; writes fail with EBADF.
/// To be called first in main(), before there are other threads.
inline void open_standard_descriptors() noexcept {
    for (;;) {
        const int fd = ::open("/dev/null", O_RDONLY);
        if (fd >= 0 && fd <= STDERR_FILENO) continue;
        if (fd >= 0) ::close(fd);
        return;
    }
}

}  // namespace turnpike
