// SPDX-License-Identifier: BSD-3-Clause
// Attaching: a program attached earlier stays or is restored, ours is detached with us, and an
// error names the missing part.
#include "program.hpp"

#include <linux/capability.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <functional>
#include <initializer_list>

#include "attachment.hpp"
#include "unit/xsk/sandbox.hpp"

namespace turnpike::xsk {
namespace {

class xsk_attach : public test::sandbox {
  protected:
    program_options options(attach_mode mode = attach_mode::auto_) const {
        return {.iface = "near", .ifindex = near, .mode = mode};
    }
};

TEST_F(xsk_attach, in_every_mode_and_off_again) {
    for (const auto& [asked, got] : {std::pair{attach_mode::auto_, attach_mode::driver},
                                     {attach_mode::driver, attach_mode::driver},
                                     {attach_mode::skb, attach_mode::skb}}) {
        {
            const auto p = program::attach(options(asked));
            ASSERT_TRUE(p.has_value()) << p.error().message();
            EXPECT_EQ((*p)->attached_mode(), got);
            EXPECT_TRUE((*p)->still_attached());
            EXPECT_FALSE((*p)->fragments());
            EXPECT_NE(
                attached(got == attach_mode::driver ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE), 0u);
        }
        EXPECT_EQ(attached(), 0u);
    }
}

TEST_F(xsk_attach, what_has_no_driver_mode_gets_skb) {
    program_options o{.iface = "lo", .ifindex = if_nametoindex("lo")};
    {
        const auto p = program::attach(o);
        ASSERT_TRUE(p.has_value()) << p.error().message();
        EXPECT_EQ((*p)->attached_mode(), attach_mode::skb);
    }
    o.mode = attach_mode::driver;
    const auto p = program::attach(o);
    ASSERT_FALSE(p.has_value());
    EXPECT_NE(p.error().message().find("lo: its driver does not support XDP"), std::string::npos)
        << p.error().message();
}

TEST_F(xsk_attach, with_fragments_and_many_queues) {
    auto o = options();
    o.fragments = true;
    o.max_queues = 64;
    const auto p = program::attach(o);
    ASSERT_TRUE(p.has_value()) << p.error().message();
    EXPECT_TRUE((*p)->fragments());
    bpf_map_info map{};
    uint32_t bytes = sizeof map;
    ASSERT_EQ(bpf_obj_get_info_by_fd((*p)->xskmap_fd(), &map, &bytes), 0);
    EXPECT_EQ(map.max_entries, 64u);
    EXPECT_EQ(map.type, uint32_t{BPF_MAP_TYPE_XSKMAP});
    (*p)->clear_socket(3);
    const auto none = (*p)->set_socket(3, STDIN_FILENO);
    ASSERT_FALSE(none.has_value());
    EXPECT_NE(none.error().message().find("queue 3"), std::string::npos);
}

TEST_F(xsk_attach, beside_a_netlink_program_is_refused_by_name) {
    const owned_fd other(test::load_other_program());
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(near), other.get(), XDP_FLAGS_SKB_MODE, nullptr), 0);
    const uint32_t id = attached();
    const auto p = program::attach(options());
    ASSERT_FALSE(p.has_value());
    EXPECT_EQ(p.error().code, EBUSY);
    const std::string text = p.error().message();
    for (const std::string& part :
         {std::string("near: the BPF program other_program (id ") + std::to_string(id),
          std::string("skb mode"), std::string("attached by netlink"), std::string("replace=1")})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(attached(), id);
}

TEST_F(xsk_attach, replaces_a_netlink_program_and_puts_it_back) {
    for (const uint32_t mode : {XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE}) {
        const owned_fd other(test::load_other_program());
        ASSERT_EQ(bpf_xdp_attach(static_cast<int>(near), other.get(), mode, nullptr), 0);
        const uint32_t id = attached(static_cast<int>(mode));
        ASSERT_NE(id, 0u);
        auto o = options();
        o.replace = true;
        {
            const auto p = program::attach(o);
            ASSERT_TRUE(p.has_value()) << p.error().message();
            EXPECT_NE(attached(), id);
            EXPECT_TRUE((*p)->still_attached());
        }
        EXPECT_EQ(attached(static_cast<int>(mode)), id);
        {
            auto p = program::attach(o);
            ASSERT_TRUE(p.has_value()) << p.error().message();
            EXPECT_TRUE((*p)->detach().has_value());
            EXPECT_EQ(attached(static_cast<int>(mode)), id);
            EXPECT_TRUE((*p)->detach().has_value()) << "the second time does nothing";
        }
        EXPECT_EQ(attached(static_cast<int>(mode)), id);
        bpf_xdp_detach(static_cast<int>(near), mode, nullptr);
    }
}

TEST_F(xsk_attach, a_failed_attach_puts_the_replaced_one_back) {
    const unsigned plain = if_nametoindex("lo");
    const owned_fd other(test::load_other_program());
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(plain), other.get(), XDP_FLAGS_SKB_MODE, nullptr), 0);
    uint32_t before = 0, after = 0;
    bpf_xdp_query_id(static_cast<int>(plain), 0, &before);
    const auto p = program::attach(
        {.iface = "lo", .ifindex = plain, .mode = attach_mode::driver, .replace = true});
    EXPECT_FALSE(p.has_value());
    bpf_xdp_query_id(static_cast<int>(plain), 0, &after);
    EXPECT_EQ(before, after);
    EXPECT_NE(before, 0u);
    bpf_xdp_detach(static_cast<int>(plain), XDP_FLAGS_SKB_MODE, nullptr);
}

TEST_F(xsk_attach, beside_a_link_is_refused_even_with_replace) {
    const owned_fd other(test::load_other_program());
    const owned_fd link(bpf_link_create(other.get(), static_cast<int>(near), BPF_XDP, nullptr));
    ASSERT_GE(link.get(), 0);
    const uint32_t id = attached();
    for (const bool replace : {false, true}) {
        auto o = options();
        o.replace = replace;
        const auto p = program::attach(o);
        ASSERT_FALSE(p.has_value());
        EXPECT_EQ(p.error().code, EBUSY);
        EXPECT_NE(p.error().message().find("other_program"), std::string::npos);
        EXPECT_NE(p.error().message().find("attached by a BPF link"), std::string::npos)
            << p.error().message();
        EXPECT_NE(p.error().message().find("end the process"), std::string::npos);
    }
    EXPECT_EQ(attached(), id);
}

TEST_F(xsk_attach, a_second_of_ours_is_refused_by_name) {
    const auto first = program::attach(options());
    ASSERT_TRUE(first.has_value());
    const auto second = program::attach(options());
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message().find("turnpike_xsk"), std::string::npos)
        << second.error().message();
    EXPECT_TRUE((*first)->still_attached());
}

TEST_F(xsk_attach, an_interface_that_goes_is_noticed) {
    const auto p = program::attach(options());
    ASSERT_TRUE(p.has_value());
    ASSERT_TRUE(test::run("ip link del near"));
    EXPECT_FALSE((*p)->still_attached());
    EXPECT_TRUE((*p)->detach().has_value());
    const auto again = program::attach(options());
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().code, ENODEV) << again.error().message();
}

/// Run in a child process; what it writes, after it has ended or been killed where it paused.
std::string in_child(const std::function<std::string()>& work, bool pauses) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        const std::string expected_text = work();
        if (write(ends[1], expected_text.data(), expected_text.size()) < 0) _exit(1);
        close(ends[1]);
        if (pauses) pause();
        _exit(0);
    }
    close(ends[1]);
    std::string expected_text;
    char bytes[512];
    for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;)
        expected_text.append(bytes, static_cast<size_t>(n));
    close(ends[0]);
    if (pauses) kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return expected_text;
}

TEST_F(xsk_attach, a_killed_process_leaves_nothing) {
    const auto o = options();
    std::unique_ptr<program> held;
    EXPECT_EQ(in_child(
                  [&] {
                      auto p = program::attach(o);
                      if (!p) return p.error().message();
                      held = std::move(*p);
                      return std::string("attached");
                  },
                  true),
              "attached");
    EXPECT_EQ(attached(), 0u);
    EXPECT_TRUE(program::attach(o).has_value());
}

bool restrict_to(std::initializer_list<unsigned> capabilities) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    for (const unsigned c : capabilities) {
        data[c / 32].effective |= 1u << c % 32;
        data[c / 32].permitted |= 1u << c % 32;
    }
    return syscall(SYS_capset, &header, data) == 0;
}

std::string attach_with(const program_options& o, std::initializer_list<unsigned> capabilities) {
    return in_child(
        [&] {
            if (!restrict_to(capabilities)) return std::string("cannot drop capabilities");
            const auto p = program::attach(o);
            return p ? std::string("attached") : p.error().message();
        },
        false);
}

TEST_F(xsk_attach, two_capabilities_are_enough) {
    auto o = options();
    EXPECT_EQ(attach_with(o, {CAP_BPF, CAP_NET_ADMIN}), "attached");
    const auto f = read_filter(
        "- {protocol: tcp, port: 22}\n- {protocol: arp}\n- {address: 2001:db8::/32}\n", "f");
    ASSERT_TRUE(f.has_value());
    o.keep = *f;
    o.fragments = true;
    EXPECT_EQ(attach_with(o, {CAP_BPF, CAP_NET_ADMIN}), "attached");
}

TEST_F(xsk_attach, what_is_missing_is_named) {
    const auto o = options();
    const std::string no_bpf = attach_with(o, {CAP_NET_ADMIN, CAP_NET_RAW});
    EXPECT_NE(no_bpf.find("needs CAP_BPF;"), std::string::npos) << no_bpf;
    const std::string no_admin = attach_with(o, {CAP_BPF});
    EXPECT_NE(no_admin.find("needs CAP_NET_ADMIN;"), std::string::npos) << no_admin;
    const std::string neither = attach_with(o, {CAP_NET_RAW});
    EXPECT_NE(neither.find("needs CAP_BPF and CAP_NET_ADMIN;"), std::string::npos) << neither;
}

TEST_F(xsk_attach, without_the_capability_to_look_others_are_still_told_apart) {
    const owned_fd other(test::load_other_program());
    auto o = options();
    {
        const owned_fd link(bpf_link_create(other.get(), static_cast<int>(near), BPF_XDP, nullptr));
        const std::string expected_text = attach_with(o, {CAP_BPF, CAP_NET_ADMIN});
        EXPECT_NE(expected_text.find("attached by a BPF link"), std::string::npos) << expected_text;
    }
    ASSERT_EQ(bpf_xdp_attach(static_cast<int>(near), other.get(), XDP_FLAGS_DRV_MODE, nullptr), 0);
    const std::string expected_text = attach_with(o, {CAP_BPF, CAP_NET_ADMIN});
    EXPECT_NE(expected_text.find("attached by netlink"), std::string::npos) << expected_text;
    o.replace = true;
    const std::string kept = attach_with(o, {CAP_BPF, CAP_NET_ADMIN});
    EXPECT_NE(kept.find("replace=1 needs CAP_SYS_ADMIN"), std::string::npos) << kept;
    EXPECT_NE(attached(), 0u);
}

}  // namespace
}  // namespace turnpike::xsk
