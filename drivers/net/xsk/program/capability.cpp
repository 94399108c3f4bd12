// SPDX-License-Identifier: BSD-3-Clause
#include "capability.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include <fmt/format.h>

namespace turnpike::xsk {
namespace {

/// capget(2): this thread's effective capabilities, in two 32-bit words.
uint64_t effective_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (syscall(SYS_capget, &header, data) != 0) return 0;
    return data[0].effective | uint64_t{data[1].effective} << 32;
}

}  // namespace

std::string what_bpf_lacks() {
    const uint64_t has = effective_capabilities();
    const auto with = [has](unsigned capability) { return (has >> capability & 1) != 0; };
    std::string lacks;
    if (!with(CAP_BPF) && !with(CAP_SYS_ADMIN)) lacks = "CAP_BPF";
    if (!with(CAP_NET_ADMIN)) lacks += std::string(lacks.empty() ? "" : " and ") + "CAP_NET_ADMIN";
    if (!lacks.empty())
        return "needs " + lacks +
               "; with xskmap=PATH, a map pinned by another process, it does not";
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return fmt::format(
        "the kernel does not permit it though CAP_BPF and CAP_NET_ADMIN are there; a kernel "
        "before 5.11 counts BPF maps against RLIMIT_MEMLOCK ({} KB here: ulimit -l)",
        limit.rlim_cur / 1024);
}

}  // namespace turnpike::xsk
