// SPDX-License-Identifier: BSD-3-Clause
// Changes of many routes as lines, received in parts and applied as one transaction:
//
//   add 10.9.0.0/16 via 10.0.2.2 dev east     must not exist
//   replace blackhole 192.0.2.0/24            may exist; the default verb
//   del 10.8.0.0/16                           must exist
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sources/route_file.hpp"
#include "state/configuration.hpp"

namespace turnpike::sources {

/// The end of the error of a deletion that finds no route.
inline constexpr const char* route_not_configured =
    "not configured (a learned one is deleted at its origin)";

/// Threads  control.
class route_stream {
  public:
    /// Changes, and next hops of their different lists of several.
    static constexpr size_t most = size_t{1} << 22;

    /// Lines as in a route file, or behind add, replace or del; a route's `nexthop` lines may be in the next part.
    /// in      configuration with the connected networks
    /// vrf     VRF of the routes, the same in all parts; "": main
    /// Errors  EINVAL with "line N", counted from the first part; ENOENT: no such VRF; ENOSPC
    [[nodiscard]] result<void> add_lines(std::string_view lines, const state::configuration& in,
                                         const std::string& vrf = {});
    /// Applies the changes in the order received, and discards them, also on an error.
    /// Errors  EEXIST, ENOENT with "line N", the first one; EINVAL: the result is invalid; `into` is then
    ///         unusable
    [[nodiscard]] result<void> make(state::configuration& into);

    /// Changes and next hops, as the limit counts them.
    [[nodiscard]] size_t size() const noexcept {
        return changes_.size() + next_hops_ + joined_.pending();
    }
    /// Number of changes.
    [[nodiscard]] size_t changes() const noexcept { return changes_.size() + joined_.pending(); }

  private:
    enum class verb : uint8_t { add, replace, del };
    struct route_edit {
        state::route route;  ///< its target is an index into targets_
        verb what;
        uint32_t line;
    };

    [[nodiscard]] static result<route_edit> read(std::string_view line, uint32_t number,
                                                 route_line_reader& reader);
    [[nodiscard]] result<void> add_line(std::string_view line, uint32_t number,
                                        route_line_reader& reader);

    [[nodiscard]] std::vector<uint32_t> in_order() const;

    std::string vrf_;
    std::vector<route_edit> changes_;
    state::route_set targets_;  ///< only for its targets
    size_t next_hops_ = 0;
    uint32_t lines_ = 0;
    joined_lines joined_{};
};

}  // namespace turnpike::sources
