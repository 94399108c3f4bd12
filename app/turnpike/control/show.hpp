// SPDX-License-Identifier: BSD-3-Clause
// What runs, as JSON: the subjects of the request `show`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "control/controller.hpp"

namespace turnpike::control {

/// The members of a request, typed: what is missing or not as it should be is thrown as an `error`.
class request_fields {
  public:
    /// all  an object
    explicit request_fields(const nlohmann::json& all) : all_(all) {}
    [[nodiscard]] bool has(std::string_view name) const { return all_.contains(name); }
    [[nodiscard]] std::string text(std::string_view name) const;
    /// Of any kind, as JSON.
    [[nodiscard]] std::string json_text(std::string_view name) const;
    [[nodiscard]] bool truth_or(std::string_view name, bool otherwise) const;
    [[nodiscard]] uint64_t number_or(std::string_view name, uint64_t otherwise, uint64_t least,
                                     uint64_t most) const;
    /// No members but these, separated by blanks.
    void expect(std::string_view names) const;

  private:
    const nlohmann::json& all_;
};

/// What a member's text is read as; where it is none, an `error` is thrown.
template <class T>
[[nodiscard]] T parsed(result<T> r, std::string_view field) {
    if (!r) throw error{EINVAL, std::string(field), r.error().text};
    return std::move(*r);
}

/// Throws  error
[[nodiscard]] nlohmann::json show(controller& c, const request_fields& f);
/// {name: help}
[[nodiscard]] nlohmann::json show_help();

// The subjects that are many: a page of at most `most` (256), and "next", to be given as "from".
[[nodiscard]] inline uint64_t page_of(const request_fields& f) {
    constexpr uint64_t usual = 256, largest = 1024;
    return f.number_or("most", usual, 1, largest);
}
/// What is done with packets that go by a hop.
[[nodiscard]] nlohmann::json hop_json(controller& c, uint32_t index);
[[nodiscard]] nlohmann::json show_route(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_routes(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_neighbours(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_next_hops(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_fdb(controller& c, const request_fields& f);

[[nodiscard]] nlohmann::json show_vrfs(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_tunnels(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_heard(controller& c, const request_fields& f);
[[nodiscard]] nlohmann::json show_bridges(controller& c, const request_fields& f);
/// Of the stations that bridges learnt, those that `bridge`, `port`, `vlan` and `mac` say.
/// Answers  how many
uint32_t forget_stations(controller& c, const request_fields& f);

}  // namespace turnpike::control
