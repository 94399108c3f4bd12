// SPDX-License-Identifier: BSD-3-Clause
// Replies of the generic netlink family "netdev", whole and truncated.
#include "netdev.hpp"

#include <gtest/gtest.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include <cstring>
#include <vector>

namespace turnpike::xsk {
namespace {

using message = std::vector<std::byte>;

void append(message& m, uint16_t type, const std::vector<uint8_t>& value) {
    const nlattr head{static_cast<uint16_t>(sizeof head + value.size()), type};
    const size_t at = m.size();
    m.resize(at + NLA_ALIGN(head.nla_len));
    std::memcpy(&m[at], &head, sizeof head);
    if (!value.empty()) std::memcpy(&m[at + sizeof head], value.data(), value.size());
}

/// As Linux 6.18 answers for an interface with zero-copy: index 4, features, 17 segments.
message whole() {
    message m(NLMSG_LENGTH(GENL_HDRLEN));
    append(m, 1, {4, 0, 0, 0});
    append(m, 3, {0x2b, 0, 0, 0, 0, 0, 0, 0});
    append(m, 5 | NLA_F_NESTED, {1, 2, 3});  // padded
    append(m, 4, {17, 0, 0, 0});
    return m;
}

TEST(xsk_netdev, finds_an_attribute_behind_others) {
    const message m = whole();
    const auto found = netlink_attribute(m, 4);
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0], std::byte{17});
    EXPECT_EQ(netlink_attribute(m, 5).size(), 3u);
    EXPECT_TRUE(netlink_attribute(m, 6).empty());
}

TEST(xsk_netdev, does_not_read_past_the_end) {
    const message m = whole();
    for (size_t bytes = 0; bytes < m.size(); ++bytes) {
        const message cut(m.begin(), m.begin() + static_cast<ptrdiff_t>(bytes));  // for ASan
        EXPECT_TRUE(netlink_attribute(cut, 4).empty()) << bytes;
    }
    message bad = whole();
    bad[NLMSG_LENGTH(GENL_HDRLEN)] = std::byte{0};  // an attribute of no bytes would go on for ever
    EXPECT_TRUE(netlink_attribute(bad, 4).empty());
}

TEST(xsk_netdev, says_nothing_of_what_is_not_there) {
    EXPECT_EQ(zero_copy_parts(0x7fff'ffff), 0u);
    EXPECT_EQ(zero_copy_parts(1), 0u) << "lo has no zero-copy";
}

}  // namespace
}  // namespace turnpike::xsk
