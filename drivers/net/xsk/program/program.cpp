// SPDX-License-Identifier: BSD-3-Clause
#include "program.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <utility>

#include "attachment.hpp"
#include "capability.hpp"

// bpftool generates C, which our C++ warnings reject.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#include "xsk.skel.h"
#pragma GCC diagnostic pop

namespace turnpike::xsk {
namespace {

/// Captures libbpf's warnings, which it prints by a process-wide callback, for our own error
/// message. One thread at a time.
class libbpf_messages {
  public:
    libbpf_messages() : alone_(mutex_) {
        last_.clear();
        before_ = libbpf_set_print(&print);
    }
    libbpf_messages(const libbpf_messages&) = delete;
    libbpf_messages& operator=(const libbpf_messages&) = delete;
    ~libbpf_messages() { libbpf_set_print(before_); }
    /// The last warning, as " (libbpf: ...)", or nothing.
    [[nodiscard]] std::string text() const { return last_.empty() ? "" : " (" + last_ + ")"; }

  private:
    [[gnu::format(printf, 2, 0)]] static int print(libbpf_print_level level, const char* format,
                                                   va_list arguments) {
        if (level != LIBBPF_WARN) return 0;
        char line[256];
        std::vsnprintf(line, sizeof line, format, arguments);
        last_ = line;
        last_.erase(last_.find_last_not_of('\n') + 1);
        return 0;
    }

    static inline std::mutex mutex_;
    static inline std::string last_;
    std::lock_guard<std::mutex> alone_;
    libbpf_print_fn_t before_;
};

struct skeleton_end {
    void operator()(xsk_skeleton* s) const { xsk_skeleton__destroy(s); }
};
using skeleton = std::unique_ptr<xsk_skeleton, skeleton_end>;

template <class Values>
bool fill(bpf_map* map, const Values& values) {
    for (uint32_t i = 0; i < values.size(); ++i)
        if (bpf_map_update_elem(bpf_map__fd(map), &i, &values[i], BPF_ANY) != 0) return false;
    return true;
}

/// Errors  the kernel's or libbpf's
result<skeleton> load(const program_options& o, bool fragments, const libbpf_messages& messages) {
    skeleton s(xsk_skeleton__open());
    if (!s) return fail(errno, o.iface, "libbpf cannot open the BPF program" + messages.text());
    s->rodata->filtering = o.keep.has_value();
    bpf_map__set_max_entries(s->maps.sockets, o.max_queues);
    if (fragments) bpf_program__set_flags(s->progs.turnpike_xsk, BPF_F_XDP_HAS_FRAGS);
    const int code = xsk_skeleton__load(s.get());
    if (code == -EPERM)
        return fail(-code, o.iface, "cannot load the BPF program: " + what_bpf_lacks());
    if (code != 0)
        return fail(-code, o.iface, "the kernel cannot load the BPF program" + messages.text());
    if (o.keep &&
        !(fill(s->maps.candidates, o.keep->candidates) && fill(s->maps.entries, o.keep->entries)))
        return fail(errno, o.iface, "cannot write the filter into the BPF maps");
    return s;
}

std::string why_not(int code, attach_mode mode) {
    if (mode == attach_mode::driver && (code == EOPNOTSUPP || code == 524 /* ENOTSUPP */))
        return "its driver does not support XDP: mode=skb works on any interface";
    if (mode == attach_mode::driver && (code == EINVAL || code == ERANGE || code == E2BIG))
        return "its driver rejects XDP with the interface's configuration; usually the MTU is "
               "too large for one buffer, or LRO is on. mode=skb works on any interface";
    if (code == EPERM) return what_bpf_lacks();
    if (code == ENODEV) return "the interface is gone";
    return "the kernel refuses to attach the BPF program";
}

}  // namespace

struct program::state {
    std::string iface;
    unsigned ifindex;
    size_t entries;
    skeleton loaded;
    bool fragments;
    // Destruction order: first the link is detached, then the replaced program restored.
    std::optional<displaced> replaced{};
    owned_fd link{};
    attach_mode mode = attach_mode::auto_;

    result<void> attach(attach_mode as) {
        bpf_link_create_opts options{};
        options.sz = sizeof options;
        options.flags = as == attach_mode::driver ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
        const int fd = bpf_link_create(bpf_program__fd(loaded->progs.turnpike_xsk),
                                       static_cast<int>(ifindex), BPF_XDP, &options);
        if (fd < 0) return fail(-fd, iface, why_not(-fd, as));
        link.reset(fd);
        mode = as;
        return {};
    }
};

program::program(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}

program::~program() { (void)detach(); }

result<void> program::detach() {
    // Detach explicitly: the kernel may defer the detach after the last close, but BPF_LINK_DETACH
    // is complete when it returns.
    if (state_->link.get() >= 0) bpf_link_detach(state_->link.get());
    state_->link.reset();
    if (!state_->replaced) return {};
    return state_->replaced->restore();
}

result<std::unique_ptr<program>> program::attach(const program_options& o) {
    if (char name[IF_NAMESIZE]; if_indextoname(o.ifindex, name) == nullptr)
        return fail(errno == ENXIO ? ENODEV : errno, o.iface, "the interface is gone");
    const libbpf_messages messages;
    bool fragments = o.fragments;
    auto loaded = load(o, fragments, messages);
    if (!loaded && fragments && loaded.error().code == EINVAL) {
        fragments = false;  // before 5.18
        loaded = load(o, fragments, messages);
    }
    if (!loaded) return tl::unexpected<error>(loaded.error());
    auto s = std::unique_ptr<state>(new state{
        o.iface, o.ifindex, o.keep ? o.keep->entries.size() : 0, std::move(*loaded), fragments});

    auto there =
        find_attachment(o.iface, o.ifindex, bpf_program__fd(s->loaded->progs.turnpike_xsk));
    if (!there) return tl::unexpected<error>(there.error());
    if (*there && !o.replace)
        return fail(EBUSY, o.iface,
                    (*there)->text() + " is already attached; " +
                        ((*there)->by_link ? "end the process that holds the link"
                                           : "detach it (ip link set dev " + o.iface +
                                                 " xdp off), or use replace=1, which restores it "
                                                 "at the end"));
    if (*there) {
        auto off = displaced::detach_from(o.iface, o.ifindex, std::move(**there));
        if (!off) return tl::unexpected<error>(off.error());
        s->replaced.emplace(std::move(*off));
    }

    auto attached = s->attach(o.mode == attach_mode::auto_ ? attach_mode::driver : o.mode);
    if (!attached && o.mode == attach_mode::auto_ && attached.error().code != EBUSY)
        attached = s->attach(attach_mode::skb);
    if (!attached) return tl::unexpected<error>(attached.error());
    return std::unique_ptr<program>(new program(std::move(s)));
}

int program::xskmap_fd() const noexcept { return bpf_map__fd(state_->loaded->maps.sockets); }
bool program::fragments() const noexcept { return state_->fragments; }
attach_mode program::attached_mode() const noexcept { return state_->mode; }

result<void> program::set_socket(unsigned queue, int xsk_fd) {
    if (bpf_map_update_elem(xskmap_fd(), &queue, &xsk_fd, BPF_ANY) != 0)
        return fail(errno, state_->iface,
                    fmt::format("cannot add the socket of queue {} to the XSKMAP", queue));
    return {};
}

void program::clear_socket(unsigned queue) noexcept {
    (void)bpf_map_delete_elem(xskmap_fd(), &queue);
}

filter_counters program::kept_by_kernel() const {
    filter_counters sum{0, std::vector<uint64_t>(state_->entries)};
    std::vector<uint64_t> cpus(static_cast<size_t>(std::max(1, libbpf_num_possible_cpus())));
    for (uint32_t entry = 0; entry < state_->entries; ++entry) {
        if (bpf_map_lookup_elem(bpf_map__fd(state_->loaded->maps.kept), &entry, cpus.data()) != 0)
            continue;
        for (const uint64_t one : cpus) sum.by_entry[entry] += one;
        sum.packets += sum.by_entry[entry];
    }
    return sum;
}

bool program::still_attached() const noexcept {
    bpf_link_info info{};
    uint32_t bytes = sizeof info;
    return bpf_obj_get_info_by_fd(state_->link.get(), &info, &bytes) == 0 &&
           info.xdp.ifindex == state_->ifindex;
}

}  // namespace turnpike::xsk
