// SPDX-License-Identifier: BSD-3-Clause
// Rate limit of messages, of each ingress interface and port: a flood on one link does not affect other links (RFC 6583
// section 6), and a flood by one port of a bridge does not affect the other ports. One host of a link, by a keyed hash, gets
// only a share of the rate, so that a flood by one host leaves tokens to the others of its link. No limit holds for all
// interfaces together: one link's flood would use it up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/token_bucket.hpp"
#include "datapath/snapshot.hpp"
#include "hash/hash.hpp"

namespace turnpike::control::slow_path {

/// Bursts of up to a tenth of a second's tokens.
/// Threads  control.
class message_rate {
  public:
    /// share  a host gets rate / share, at least 1 per second; 0: hosts have no separate limit
    explicit message_rate(uint32_t share)
        : share_(share),
          of_links_(size_t{datapath::max_interfaces} * max_in_ports),
          of_hosts_(share == 0 ? 0 : size_t{datapath::max_interfaces} * max_hosts) {
        if (!hash::secret::draw(secret_)) throw std::runtime_error("no random numbers");
    }
    /// Set the limit of every interface and port. 0: nothing is permitted. The same rate again leaves the buckets as they
    /// are; after another one they are full.
    void set(uint32_t per_second) noexcept {
        if (per_second == per_second_) return;
        per_second_ = per_second;
        link_rate_ = rate_of(per_second);
        if (share_ != 0) host_rate_ = rate_of(std::max(per_second / share_, 1U));
        std::fill(of_links_.begin(), of_links_.end(), token_bucket{});
        std::fill(of_hosts_.begin(), of_hosts_.end(), token_bucket{});
    }
    /// Whether one more message of the packet's interface and port is permitted.
    [[nodiscard]] bool allow(const datapath::punted& of, uint64_t now_ms) noexcept {
        const size_t port = std::min<size_t>(of.in_port, datapath::max_ports);
        return per_second_ != 0 && of_links_[of.in_interface * max_in_ports + port].allow(
                                       link_rate_, now_ms * ns_per_ms);
    }
    /// Likewise of a host of that interface and port.
    /// Requires  share != 0
    [[nodiscard]] bool allow(const datapath::punted& of, uint64_t host, uint64_t now_ms) noexcept {
        const uint64_t key[2] = {host, of.in_port};
        const size_t at = hash::hash<2>(secret_, key).first % max_hosts;
        return per_second_ != 0 &&
               of_hosts_[of.in_interface * max_hosts + at].allow(host_rate_, now_ms * ns_per_ms) &&
               allow(of, now_ms);
    }
    /// The key of a host, by the source of a frame.
    [[nodiscard]] static uint64_t host_of(const mac_address& a) noexcept {
        uint64_t key = 0;
        std::copy_n(a.bytes, sizeof a.bytes, reinterpret_cast<uint8_t*>(&key));
        return key;
    }
    /// The key of a host, by its IPv4 address or the /64 prefix of its IPv6 address.
    [[nodiscard]] static uint64_t host_of(const ip_address& a) noexcept {
        return a.v6 ? load_be<uint64_t>(a.v6_bytes().bytes) : a.v4();
    }

  private:
    static constexpr size_t max_in_ports = datapath::max_ports + 1, max_hosts = 32;  ///< of a link
    static constexpr uint64_t ns_per_s = 1'000'000'000, ns_per_ms = 1'000'000;
    static constexpr token_rate rate_of(uint32_t per_second) noexcept {
        return per_second == 0
                   ? token_rate{}
                   : token_rate::per_second(per_second, ns_per_s, std::max(per_second / 10, 1U));
    }

    uint32_t share_, per_second_ = 0;
    token_rate link_rate_{}, host_rate_{};
    hash::secret secret_{};
    std::vector<token_bucket> of_links_, of_hosts_;
};

}  // namespace turnpike::control::slow_path
