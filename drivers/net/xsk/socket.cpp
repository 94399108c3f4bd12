// SPDX-License-Identifier: BSD-3-Clause
#include "socket.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "netdev.hpp"
#include "umem_sharers.hpp"

namespace turnpike::xsk {
namespace {

constexpr uint32_t least_entries = 64;  // size of unused fill and completion rings
// The kernel releases a closed socket's queue in a work item, some time after close().
constexpr long bind_nap_ns = 1'000'000;
constexpr int bind_naps = 2000;
// net/xdp/xsk_buff_pool.c: with fewer, the kernel does not enable multi-buffer zero-copy.
constexpr uint32_t least_zero_copy_parts = 2;
// net/xdp/xsk.c, xsk_build_skb_zerocopy(): a driver with IFF_TX_SKB_NO_LINEAR is sent no copy, but the
// buffer's pages as fragments; a part may lie on two pages. The kernel drops a frame of more than
// MAX_SKB_FRAGS (17) fragments.
constexpr uint32_t fragment_parts = 8;
constexpr std::string_view fragment_driver = "virtio_net";

std::string megabytes(uint64_t bytes) {
    return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MB";
}

bool set_option(int fd, int level, int name, const void* value, socklen_t bytes) noexcept {
    return setsockopt(fd, level, name, value, bytes) == 0;
}
bool set_number(int fd, int level, int name, uint32_t value) noexcept {
    return set_option(fd, level, name, &value, sizeof value);
}

/// Returns 0 or errno; EBUSY only if the queue stays busy for that many naps.
int bind_when_free(int fd, const sockaddr_xdp& address, int naps) noexcept {
    for (int nap = 0;; ++nap) {
        if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return 0;
        if (errno != EBUSY || nap == naps) return errno;
        const timespec time{0, bind_nap_ns};
        nanosleep(&time, nullptr);
    }
}

std::string memlock_shortage(const frame_layout& f) {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return "pool '" + std::string(f.pool->name) + "' has " + megabytes(f.bytes) +
           " to be locked, and RLIMIT_MEMLOCK is " + megabytes(limit.rlim_cur) +
           ": raise it (ulimit -l, LimitMEMLOCK= of systemd) or grant CAP_IPC_LOCK";
}

std::string refused_memory(const frame_layout& f) {
    return "the memory of pool '" + std::string(f.pool->name) +
           "' cannot be a UMEM: " + megabytes(f.bytes) + " in " + std::to_string(f.pieces) +
           " pieces, chunks of " + std::to_string(f.chunk_bytes) + " bytes" +
           (f.pieces > 1 ? ", perhaps with nothing between two of them" : "");
}

std::string refused_bind(int code, const socket_settings& s) {
    const std::string queue = "queue " + std::to_string(s.queue);
    switch (code) {
        case EBUSY:
            return queue +
                   " has an AF_XDP socket already: end the program that owns it, or use "
                   "other queues (start_queue)";
        case EINVAL:
            return "there is no " + queue + " (ethtool -l shows how many there are)" +
                   (s.multi_buffer ? ", or this kernel has no frames in several buffers (Linux 6.6)"
                                   : "");
        case EOPNOTSUPP:
            return "its driver '" + s.driver + "' has no zero-copy for " + queue +
                   " with this configuration: use mode=copy or mode=auto";
        case ENODEV:
            return "the interface is gone";
        case EPERM:
            return "binding an AF_XDP socket needs CAP_NET_RAW";
        default:
            return "no AF_XDP socket on " + queue;
    }
}

}  // namespace

result<std::unique_ptr<socket>> socket::open(const socket_settings& s) {
    std::unique_ptr<socket> made(new socket(s));
    made->fd_.reset(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (made->fd() < 0) {
        const int code = errno;
        if (code == EPERM) return fail(code, s.iface, "an AF_XDP socket needs CAP_NET_RAW");
        return fail(code, s.iface,
                    code == EAFNOSUPPORT ? "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)"
                                         : "no AF_XDP socket");
    }
    for (auto step : {&socket::make_rings, &socket::set_options, &socket::join_umem})
        if (auto done = (made.get()->*step)(); !done) return tl::unexpected<error>(done.error());
    xdp_options options{};
    socklen_t bytes = sizeof options;
    made->zero_copy_ = getsockopt(made->fd(), SOL_XDP, XDP_OPTIONS, &options, &bytes) == 0 &&
                       (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
    if (s.multi_buffer)
        made->max_parts_ = made->zero_copy_              ? std::clamp(zero_copy_parts(s.ifindex),
                                                                      least_zero_copy_parts, max_frame_parts)
                           : s.driver == fragment_driver ? fragment_parts
                                                         : max_frame_parts;
    return made;
}

result<void> socket::make_rings() {
    const std::pair<int, uint32_t> rings[] = {
        {XDP_UMEM_FILL_RING, std::max(s_.rx_entries, least_entries)},
        {XDP_UMEM_COMPLETION_RING, std::max(s_.tx_entries, least_entries)},
        {XDP_RX_RING, s_.rx_entries},
        {XDP_TX_RING, s_.tx_entries}};
    for (const auto& [option, entries] : rings)
        if (entries != 0 && !set_number(fd(), SOL_XDP, option, entries))
            return fail(errno, s_.iface,
                        "the kernel makes no ring of " + std::to_string(entries) + " entries");
    return map_rings();
}

result<void> socket::map_rings() {
    xdp_mmap_offsets at{};
    socklen_t bytes = sizeof at;
    if (getsockopt(fd(), SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes) != 0 || bytes != sizeof at)
        return fail(errno, s_.iface, "this kernel's AF_XDP is too old: it needs Linux 5.4");
    const auto map = [&](mapping& into, const xdp_ring_offset& o, uint64_t where, uint32_t entries,
                         size_t entry_bytes) {
        if (entries == 0) return true;
        const size_t length = o.desc + entries * entry_bytes;
        void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                            fd(), static_cast<off_t>(where));
        if (memory == MAP_FAILED) return false;
        auto* begin = static_cast<uint8_t*>(memory);
        into = {memory,
                length,
                {.producer = reinterpret_cast<uint32_t*>(begin + o.producer),
                 .consumer = reinterpret_cast<uint32_t*>(begin + o.consumer),
                 .flags = reinterpret_cast<uint32_t*>(begin + o.flags),
                 .entries = begin + o.desc,
                 .size = entries}};
        return true;
    };
    if (map(rx_, at.rx, XDP_PGOFF_RX_RING, s_.rx_entries, sizeof(xdp_desc)) &&
        map(tx_, at.tx, XDP_PGOFF_TX_RING, s_.tx_entries, sizeof(xdp_desc)) &&
        map(fill_, at.fr, XDP_UMEM_PGOFF_FILL_RING, std::max(s_.rx_entries, least_entries),
            sizeof(uint64_t)) &&
        map(completion_, at.cr, XDP_UMEM_PGOFF_COMPLETION_RING,
            std::max(s_.tx_entries, least_entries), sizeof(uint64_t)))
        return {};
    return fail(errno, s_.iface,
                "the rings of queue " + std::to_string(s_.queue) + " cannot be mapped");
}

result<void> socket::set_options() {
    if (s_.tx_entries != 0) {
        // In copy mode one call sends 32 frames at most, and waits for room in the send buffer:
        // raise the budget to the ring's size. Kernels before 6.17 lack the option.
        (void)set_number(fd(), SOL_XDP, XDP_MAX_TX_SKB_BUDGET, s_.tx_entries);
        const uint32_t send_buffer = s_.tx_entries * max_chunk_bytes;
        if (!set_number(fd(), SOL_SOCKET, SO_SNDBUFFORCE, send_buffer))
            (void)set_number(fd(), SOL_SOCKET, SO_SNDBUF, send_buffer);
    }
    if (s_.busy_budget == 0) return {};
    constexpr uint32_t busy_poll_us = 20;
    if (set_number(fd(), SOL_SOCKET, SO_PREFER_BUSY_POLL, 1) &&
        set_number(fd(), SOL_SOCKET, SO_BUSY_POLL, busy_poll_us) &&
        set_number(fd(), SOL_SOCKET, SO_BUSY_POLL_BUDGET, s_.busy_budget))
        return {};
    const int code = errno;
    return fail(code, "busy_budget=" + std::to_string(s_.busy_budget),
                code == EPERM         ? "busy polling needs CAP_NET_ADMIN"
                : code == ENOPROTOOPT ? "this kernel has no preferred busy polling (Linux 5.11)"
                                      : "the kernel refuses busy polling");
}

int socket::bind_to(uint16_t flags, int shared_umem_fd) const noexcept {
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = flags;
    address.sxdp_ifindex = s_.ifindex;
    address.sxdp_queue_id = s_.queue;
    address.sxdp_shared_umem_fd = static_cast<uint32_t>(std::max(shared_umem_fd, 0));
    return bind_when_free(fd(), address, s_.patient ? bind_naps : 0);
}

/// Share the UMEM of a socket on the same memory; otherwise register a new one.
result<void> socket::join_umem() {
    const umem_kind kind{s_.frames, s_.mode, s_.multi_buffer, s_.driver};
    for (const int other : sharers_of(kind)) {
        const int code = bind_to(XDP_SHARED_UMEM, other);
        if (code == EBUSY) return fail(code, s_.iface, refused_bind(code, s_));
        if (code != 0) continue;  // that interface was removed, or rejects our flags
        shares_ = true;
        add_sharer(kind, fd());
        return {};
    }
    if (auto made = make_umem(); !made) return made;
    uint16_t flags = XDP_USE_NEED_WAKEUP;
    if (s_.multi_buffer) flags |= XDP_USE_SG;
    if (s_.mode == bind_mode::zerocopy) flags |= XDP_ZEROCOPY;
    if (s_.mode == bind_mode::copy || s_.mode == bind_mode::skb) flags |= XDP_COPY;
    if (const int code = bind_to(flags, -1); code != 0)
        return fail(code, s_.iface, refused_bind(code, s_));
    add_sharer(kind, fd());
    return {};
}

result<void> socket::make_umem() {
    xdp_umem_reg umem{};
    umem.addr = s_.frames.base;
    umem.len = s_.frames.bytes;
    umem.chunk_size = s_.frames.chunk_bytes;
    umem.flags = XDP_UMEM_UNALIGNED_CHUNK_FLAG;
    if (set_option(fd(), SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem)) return {};
    const int code = errno;
    return fail(code, s_.iface,
                code == ENOBUFS ? memlock_shortage(s_.frames) : refused_memory(s_.frames));
}

xdp_statistics socket::kernel_statistics() const noexcept {
    xdp_statistics s{};
    socklen_t bytes = sizeof s;
    (void)getsockopt(fd(), SOL_XDP, XDP_STATISTICS, &s, &bytes);
    return s;
}

/// The NIC may write into the buffers of a closed zero-copy socket until the kernel's work item has
/// released the queue. Then the queue can be bound again: test that with a socket whose UMEM is one
/// page.
void wait_for_release(unsigned ifindex, uint32_t queue) noexcept {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    {
        const owned_fd probe(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
        xdp_umem_reg umem{};
        umem.addr = reinterpret_cast<uintptr_t>(memory);
        umem.len = page;
        umem.chunk_size = max_chunk_bytes;
        sockaddr_xdp address{};
        address.sxdp_family = AF_XDP;
        address.sxdp_flags = XDP_COPY;
        address.sxdp_ifindex = ifindex;
        address.sxdp_queue_id = queue;
        if (set_option(probe.get(), SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem) &&
            set_number(probe.get(), SOL_XDP, XDP_UMEM_FILL_RING, 1) &&
            set_number(probe.get(), SOL_XDP, XDP_UMEM_COMPLETION_RING, 1) &&
            set_number(probe.get(), SOL_XDP, XDP_TX_RING, 1))
            (void)bind_when_free(probe.get(), address, bind_naps);
    }
    munmap(memory, page);
}

socket::~socket() {
    if (fd() >= 0) remove_sharer(fd());
    for (const mapping* m : {&rx_, &tx_, &fill_, &completion_})
        if (m->at != nullptr) munmap(m->at, m->bytes);
    fd_.reset();
    if (zero_copy_) wait_for_release(s_.ifindex, s_.queue);
}

}  // namespace turnpike::xsk
