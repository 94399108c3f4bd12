// SPDX-License-Identifier: BSD-3-Clause
#include "attachment.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>

#include <utility>

namespace turnpike::xsk {

std::string attachment::text() const {
    const char* mode = flags == XDP_FLAGS_DRV_MODE   ? "driver mode"
                       : flags == XDP_FLAGS_SKB_MODE ? "skb mode"
                       : flags == XDP_FLAGS_HW_MODE  ? "in the NIC"
                                                     : "several modes";
    return fmt::format("the BPF program {}(id {}, {}, attached by {})",
                       name.empty() ? "" : name + " ", id, mode,
                       by_link ? "a BPF link" : "netlink");
}

namespace {

uint32_t flags_of(uint8_t attached) {
    switch (attached) {
        case XDP_ATTACHED_DRV:
            return XDP_FLAGS_DRV_MODE;
        case XDP_ATTACHED_SKB:
            return XDP_FLAGS_SKB_MODE;
        case XDP_ATTACHED_HW:
            return XDP_FLAGS_HW_MODE;
        default:
            return 0;
    }
}

/// When asked to detach `unattached`, the kernel detaches nothing: it returns EBUSY if a link owns
/// the hook and EEXIST if another program does (dev_xdp_attach in net/core/dev.c). Enumerating
/// links instead would need CAP_SYS_ADMIN.
bool held_by_link(unsigned ifindex, uint32_t flags, int unattached) {
    bpf_xdp_attach_opts expected{};
    expected.sz = sizeof expected;
    expected.old_prog_fd = unattached;
    return bpf_xdp_attach(static_cast<int>(ifindex), -1, flags, &expected) == -EBUSY;
}

}  // namespace

result<std::optional<attachment>> find_attachment(const std::string& iface, unsigned ifindex,
                                                  int unattached) {
    bpf_xdp_query_opts seen{};
    seen.sz = sizeof seen;
    if (const int code = bpf_xdp_query(static_cast<int>(ifindex), 0, &seen); code != 0)
        return fail(-code, iface, "cannot query the attached BPF program");
    if (seen.attach_mode == XDP_ATTACHED_NONE) return std::nullopt;
    attachment there{.flags = flags_of(seen.attach_mode)};
    there.id = seen.drv_prog_id != 0   ? seen.drv_prog_id
               : seen.skb_prog_id != 0 ? seen.skb_prog_id
                                       : seen.hw_prog_id;
    there.by_link = held_by_link(ifindex, there.flags, unattached);
    there.program = owned_fd(bpf_prog_get_fd_by_id(there.id));
    bpf_prog_info info{};
    uint32_t bytes = sizeof info;
    if (there.program.get() >= 0 && bpf_obj_get_info_by_fd(there.program.get(), &info, &bytes) == 0)
        there.name = info.name;
    return there;
}

displaced::displaced(std::string iface, unsigned ifindex, attachment&& there) noexcept
    : iface_(std::move(iface)), ifindex_(ifindex), there_(std::move(there)) {}

displaced::displaced(displaced&& other) noexcept = default;

displaced::~displaced() { (void)restore(); }

result<displaced> displaced::detach_from(const std::string& iface, unsigned ifindex,
                                         attachment&& there) {
    if (there.by_link)
        return fail(EBUSY, iface,
                    there.text() +
                        " is attached, and replace=1 cannot detach it: end the process "
                        "that holds the link, or detach it (bpftool link detach)");
    if (there.flags == 0)
        return fail(EBUSY, iface,
                    there.text() + " is attached, and replace=1 can restore only one program");
    if (there.program.get() < 0)
        return fail(EPERM, iface,
                    there.text() +
                        " is attached; to hold it, so that it can be restored, replace=1 "
                        "needs CAP_SYS_ADMIN");
    bpf_xdp_attach_opts expected{};
    expected.sz = sizeof expected;
    expected.old_prog_fd = there.program.get();
    if (const int code = bpf_xdp_detach(static_cast<int>(ifindex), there.flags, &expected);
        code != 0)
        return fail(-code, iface, "cannot detach " + there.text());
    return displaced(iface, ifindex, std::move(there));
}

result<void> displaced::restore() {
    const owned_fd program = std::move(there_.program);
    if (program.get() < 0) return {};
    const int code = bpf_xdp_attach(static_cast<int>(ifindex_), program.get(),
                                    there_.flags | XDP_FLAGS_UPDATE_IF_NOEXIST, nullptr);
    if (code != 0 && code != -ENODEV) return fail(-code, iface_, "cannot restore " + there_.text());
    return {};
}

}  // namespace turnpike::xsk
