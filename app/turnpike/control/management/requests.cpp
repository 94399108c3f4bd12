// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/requests.hpp"

#include <fmt/format.h>
#include <string.h>

#include <nlohmann/json.hpp>

#include "control/forwarding/captures.hpp"
#include "control/forwarding/traces.hpp"
#include "control/management/show.hpp"
#include "observe/console.hpp"
#include "version.hpp"

namespace turnpike::control {

using nlohmann::json;

namespace {

constexpr int deepest = 8;  ///< nesting limit of a request's JSON

std::string text_of(const json& j) {
    // Names of files and devices may be invalid UTF-8, which is replaced.
    return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

json parse(std::string_view line) {
    bool deep = false;
    json request;
    try {
        request = json::parse(line, [&](int depth, json::parse_event_t, json&) {
            deep |= depth > deepest;
            return depth <= deepest;
        });
    } catch (const json::exception& e) {
        throw error{EINVAL, {}, std::string("the line is not JSON: ") + e.what()};
    }
    if (deep) throw error{EINVAL, {}, "the JSON is nested too deep"};
    if (!request.is_object())
        throw error{EINVAL, {}, "a request is a JSON object, like {\"request\": \"help\"}"};
    return request;
}

}  // namespace

struct request_table {
    struct row {
        std::string_view name;
        json (*make)(requests&, const request_fields&, const sources::socket_peer&);
        std::string_view help;  ///< empty: an old name, which help leaves out
    };

    static json help(requests&, const request_fields& f, const sources::socket_peer&) {
        f.expect("");
        json all = json::object();
        for (const row& r : rows)
            if (!r.help.empty()) all[std::string(r.name)] = r.help;
        return {{"requests", std::move(all)}, {"show", show_help()}};
    }
    static json show_what(requests& r, const request_fields& f, const sources::socket_peer&) {
        return r.controller_.with_loan(r.calls_, [&] { return show(r.controller_, f); });
    }
    static json states(requests& r, const request_fields& f, const sources::socket_peer&) {
        return r.changes_.states(f);
    }
    /// Requests of the configuration and its file.
    template <json (change_requests::*Make)(const request_fields&, const sources::socket_peer&)>
    static json by(requests& r, const request_fields& f, const sources::socket_peer& from) {
        return (r.changes_.*Make)(f, from);
    }
    template <json (change_requests::*Make)(const request_fields&, const sources::socket_peer&)
                  const>
    static json by(requests& r, const request_fields& f, const sources::socket_peer& from) {
        return (r.changes_.*Make)(f, from);
    }
    static json trace(requests& r, const request_fields& f, const sources::socket_peer&) {
        return r.calls_.run([&] { return start_trace(r.controller_, f); });
    }
    static json explain(requests& r, const request_fields& f, const sources::socket_peer&) {
        return explain_request(r.controller_, r.calls_, r.changes_.past(), f);
    }
    static json capture(requests& r, const request_fields& f, const sources::socket_peer& from) {
        return capture_request(r.controller_, r.calls_, f, from.descriptor, from.connection);
    }
    static json clear(requests& r, const request_fields& f, const sources::socket_peer& from) {
        f.expect("port");
        if (f.text("what") != "counters")
            throw error{EINVAL, "what", "only \"counters\" can be cleared"};
        const std::string port = f.has("port") ? f.text("port") : std::string();
        r.controller_.with_loan(r.calls_, [&] {
            if (!f.has("port"))
                r.controller_.clear_counters();
            else if (!r.controller_.clear_port_counters(port))
                throw error{EINVAL, "port", "'" + port + "' is not a port"};
        });
        observe::log(observe::log_level::notice,
                     who_is(from) + " cleared the counters of " +
                         (f.has("port") ? "port '" + port + "'" : "`show`"),
                     {{"who", who_is(from)}, {"what", "clear"}});
        return {{"cleared", "counters"}};
    }
    static json flush(requests& r, const request_fields& f, const sources::socket_peer& from) {
        const std::string what = f.text("what");
        const bool fdb = what == "fdb";
        if (!fdb && what != "neighbours")
            throw error{EINVAL, "what", "should be \"fdb\" or \"neighbours\""};
        f.expect(fdb ? "bridge port vlan mac" : "port address");
        const uint32_t gone =
            fdb ? r.controller_.with_loan(r.calls_,
                                          [&] { return flush_fdb_entries(r.controller_, f); })
                : flush_neighbours(r.controller_, r.calls_, f);
        observe::log(
            observe::log_level::notice,
            fmt::format("{} flushed {} {} entries", who_is(from), gone, fdb ? "FDB" : "neighbour"),
            {{"who", who_is(from)}, {"what", "flush"}});
        return {{"flushed", gone}};
    }

    static const row rows[19];
};

const request_table::row request_table::rows[19] = {
    {"help", help, "the requests, and the subjects of show"},
    {"show", show_what, "running state; what: a subject below"},
    {"check", by<&change_requests::check>, "validate a configuration"},
    {"diff", by<&change_requests::diff>, "its differences to the running configuration"},
    {"apply", by<&change_requests::apply>, "apply a configuration: all of it, or nothing"},
    {"change", by<&change_requests::change>,
     "add, replace or del objects, set settings: all, or none"},
    {"routes", by<&change_requests::routes>, "many route changes, as lines, in parts"},
    {"reload", by<&change_requests::reload>,
     "apply the file that turnpike was started with, as SIGHUP does"},
    {"confirm", by<&change_requests::confirm>,
     "keep the pending change, which rolls back otherwise"},
    {"rollback", by<&change_requests::rollback>,
     "apply an earlier configuration; back: how many changes ago"},
    {"history", states, "the earlier configurations for rollback"},
    {"states", states, {}},  // the name of `history` in earlier releases
    {"save", by<&change_requests::save>,
     "write the running configuration to the file that turnpike was started with"},
    {"configuration", by<&change_requests::configuration>,
     "the text that save would write, by the page"},
    {"flush", flush,
     "delete learned entries; what: fdb (filters: bridge, port, vlan, mac), or neighbours (port, "
     "address)"},
    {"trace", trace, "trace the next packets; packets: how many; filters: port, address, dropped"},
    {"explain", explain,
     "trace a synthetic frame on a port or interface, without sending it: frame, or from and to"},
    {"capture", capture,
     "copy packets of port as pcapng to the descriptor sent along; program: a filter's BPF "
     "instructions; status, end: a capture's number"},
    {"clear", clear, "restart the counters of `show` at 0; what: counters; port: only this port's"},
};

std::string requests::greeting() {
    return text_of({{"schema", "turnpike.control/1"}, {"version", version}});
}

json error_json(const error& why) {
    const char* name = ::strerrorname_np(why.code);
    return {{"what", printable(why.text)},
            {"where", why.object.empty() ? json(nullptr) : json(printable(why.object))},
            {"code", name != nullptr ? name : "EIO"}};
}

namespace {

/// The first error, and the others as its list `also`.
std::string refusal_of_all(const state::errors& all) {
    json first = error_json(all.front());
    for (size_t i = 1; i < all.size(); ++i) first["also"].push_back(error_json(all[i]));
    return text_of({{"error", std::move(first)}});
}

}  // namespace

std::string requests::refusal(const error& why) { return text_of({{"error", error_json(why)}}); }

std::string requests::answer(std::string_view line, const sources::socket_peer& from) {
    try {
        const json request = parse(line);
        const request_fields fields(request);
        const std::string name = fields.text("request");
        if (observe::logs(observe::log_level::debug))
            observe::log(observe::log_level::debug,
                         who_is(from) + " asks: " + printable(line.substr(0, 200)),
                         {{"who", who_is(from)}, {"what", printable(name)}});
        for (const request_table::row& r : request_table::rows)
            if (r.name == name) return text_of({{"result", r.make(*this, fields, from)}});
        return refusal({EINVAL, "request",
                        "there is no request '" + name.substr(0, 80) + "'; ask for \"help\""});
    } catch (const wrong_configuration& e) {
        return refusal_of_all(e.all);
    } catch (const error& e) {
        return refusal(e);
    } catch (const std::bad_alloc&) {
        return refusal({ENOMEM, {}, "no memory for the answer"});
    } catch (const std::exception& e) {
        return refusal({EIO, {}, e.what()});
    }
}

void requests::tick() noexcept {
    changes_.tick();
    const history& past = changes_.past();
    try {
        const observe::unfinished_changes now{.unsaved = past.unsaved(),
                                              .unconfirmed = past.undone_in().has_value()};
        if (now != shown_) calls_.run([&] { controller_.set_unfinished_changes(now); });
        shown_ = now;
        const uint64_t version = past.version();
        if (version == shown_version_) return;
        const json none = json::object();
        std::string text = text_of(changes_.states(request_fields(none)));
        calls_.run([&] { controller_.set_changes_text(std::move(text)); });
        shown_version_ = version;
    } catch (const std::bad_alloc&) {  // the next call repeats it
    }
}

result<state::changes> requests::reload(const std::string& by) {
    auto changed = changes_.reload(by);
    if (!changed) return tl::unexpected<error>(std::move(changed.error().front()));
    return std::move(*changed);
}

}  // namespace turnpike::control
