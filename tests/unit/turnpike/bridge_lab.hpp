// SPDX-License-Identifier: BSD-3-Clause
// A bridge between rings: frames in, and frames out by port.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "lib/eal.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::test {

inline constexpr uint16_t type4 = 0x0800, type_vlan = 0x8100, type_service = 0x88a8,
                          type_test = 0x88b5;

inline byte_vector fdb_entry(uint8_t n) { return {2, 0, 0, 1, 0, n}; }
inline const byte_vector everybody(6, 0xff);

/// A frame of 60 bytes that says which one it is.
inline byte_vector frame(const byte_vector& to, const byte_vector& from, uint8_t mark = 0,
                         uint16_t type = type_test) {
    byte_vector payload = counted(46);
    payload[0] = mark;
    return ethernet(type, payload, to, from);
}

inline std::vector<byte_vector> one(const byte_vector& f) { return {f}; }

inline std::string ports(int n) {
    std::string out = "ports:\n";
    for (int i = 0; i < n; ++i)
        out += "  - {name: p" + std::to_string(i) + ", device: d" + std::to_string(i) +
               ", descriptors: 256}\n";
    return out;
}
inline std::string bridge(const std::string& members, const std::string& more = "") {
    return "bridges:\n  - name: lan\n    members: [" + members + "]\n" + more;
}
inline const std::string three = ports(3) + bridge("{port: p0}, {port: p1}, {port: p2}");

/// A running bridge: the egress ports of each frame sent in.
class bridge_lab : public running_lab {
  public:
    explicit bridge_lab(const std::string& configuration)
        : running_lab(configuration), ports_(controller().ports().open().size()) {}
    ~bridge_lab() {
        settle();
        for (size_t p = 0; p < ports_; ++p) sent(static_cast<uint16_t>(p));
        check_balance();
    }

    using outputs = std::vector<std::vector<byte_vector>>;
    outputs send(uint16_t port, const byte_vector& f) {
        EXPECT_TRUE(offer(port, f));
        settle();
        outputs out;
        for (size_t p = 0; p < ports_; ++p) out.push_back(sent(static_cast<uint16_t>(p)));
        return out;
    }
    /// The ports that it came out of, as "0 2"; and each time as `as`.
    std::string egress_ports(uint16_t port, const byte_vector& f, const byte_vector* as = nullptr) {
        const outputs out = send(port, f);
        std::string text;
        for (size_t p = 0; p < out.size(); ++p)
            for (const byte_vector& one : out[p]) {
                text += (text.empty() ? "" : " ") + std::to_string(p);
                EXPECT_EQ(one, as != nullptr ? *as : f) << "at port " << p;
            }
        return text;
    }
    /// Advances control's clock by n seconds, and real time long enough for a worker to report its
    /// stations again.
    void seconds(int n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (int s = 0; s < n; ++s) {
            worker().poll();
            control(1000);
        }
    }
    std::string learnt() {
        std::vector<std::string> all;
        controller().bridges().for_each(0, [&](uint32_t, const control::known_fdb_entry& s) {
            const std::string& at = controller().interfaces().name_of(s.ifindex);
            if (!s.fixed || s.dampened)
                all.push_back(at + " " + s.mac.text().substr(15) + (s.dampened ? "!" : ""));
            return true;
        });
        std::sort(all.begin(), all.end());
        std::string text;
        for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
        return text;
    }

  private:
    const size_t ports_;
};

}  // namespace turnpike::test
