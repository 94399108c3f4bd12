// SPDX-License-Identifier: BSD-3-Clause
#include "control/requests.hpp"

#include <string.h>

#include <nlohmann/json.hpp>

#include "control/show.hpp"
#include "observe/console.hpp"
#include "sources/yaml.hpp"
#include "version.hpp"

namespace turnpike::control {

using nlohmann::json;

namespace {

constexpr int deepest = 8;  ///< of a request's JSON

std::string text_of(const json& j) {
    // Whatever a file or a device is called: what is no UTF-8 is replaced.
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
        throw error{EINVAL, {}, std::string("the line is no JSON: ") + e.what()};
    }
    if (deep) throw error{EINVAL, {}, "the JSON is nested too deep"};
    if (!request.is_object())
        throw error{EINVAL, {}, "a request is a JSON object, like {\"request\": \"help\"}"};
    return request;
}

json counts(size_t removed, size_t added, size_t changed) {
    return {{"removed", removed}, {"added", added}, {"changed", changed}};
}
json names_of(const state::change_list<std::string>& l) {
    return {{"removed", l.removed}, {"added", l.added}, {"changed", l.changed}};
}

/// What differs: few things by name, many by number.
json changes_json(const state::changes& c) {
    return {{"text", c.text()},
            {"ports", names_of(c.ports)},
            {"interfaces", names_of(c.interfaces)},
            {"acls", names_of(c.acls)},
            {"neighbours", counts(c.neighbours.removed.size(), c.neighbours.added.size(),
                                  c.neighbours.changed.size())},
            {"routes", {{"removed", c.routes.removed.size()}, {"set", c.routes.set.size()}}},
            {"settings", c.settings}};
}

template <class T>
T taken(result<T> r) {
    if (!r) throw r.error();
    return std::move(*r);
}

/// The configuration of a request: a text under a name, or a file of this machine.
state::desired wanted_by(const request_fields& f) {
    f.expect("text name file");
    if (f.has("file") == f.has("text"))
        throw error{EINVAL, {}, "either \"text\", with a \"name\" for messages, or \"file\""};
    if (f.has("file")) return taken(sources::load(f.text("file")));
    return taken(sources::load_text(f.text("text"), f.text("name")));
}

std::string who_is(const sources::socket_peer& p) {
    return "uid " + std::to_string(p.uid) + " (process " + std::to_string(p.pid) + ")";
}

}  // namespace

struct request_table {
    struct row {
        std::string_view name;
        json (*make)(requests&, const request_fields&, const sources::socket_peer&);
        std::string_view help;
    };

    static json help(requests&, const request_fields& f, const sources::socket_peer&) {
        f.expect("");
        json all = json::object();
        for (const row& r : rows) all[std::string(r.name)] = r.help;
        return {{"requests", std::move(all)}, {"show", show_help()}};
    }
    static json show_what(requests& r, const request_fields& f, const sources::socket_peer&) {
        return show(r.controller_, f);
    }
    static json check(requests&, const request_fields& f, const sources::socket_peer&) {
        return {{"valid", wanted_by(f).file}};
    }
    static json diff(requests& r, const request_fields& f, const sources::socket_peer&) {
        return changes_json(taken(state::diff(r.controller_.running(), wanted_by(f))));
    }
    static json apply(requests& r, const request_fields& f, const sources::socket_peer& from) {
        auto wanted = std::make_unique<const state::desired>(wanted_by(f));
        const std::string name = wanted->file;
        const auto applied = r.controller_.apply(std::move(wanted));
        observe::say(who_is(from) + " applied " + name + ": " +
                     (applied ? applied->text() + " changed"
                              : "refused, what runs stays: " + applied.error().message()));
        return changes_json(taken(applied));
    }
    static json reload(requests& r, const request_fields& f, const sources::socket_peer& from) {
        f.expect("");
        return changes_json(taken(r.reload(who_is(from))));
    }
    static json clear(requests& r, const request_fields& f, const sources::socket_peer& from) {
        f.expect("");
        if (f.text("what") != "counters")
            throw error{EINVAL, "what", "only \"counters\" can be cleared"};
        r.controller_.clear_counters();
        observe::say(who_is(from) + " cleared what `show` counts");
        return {{"cleared", "counters"}};
    }

    static const row rows[7];
};

const request_table::row request_table::rows[7] = {
    {"help", help, "what there is"},
    {"show", show_what, "what runs; what: one of those below"},
    {"check", check, "whether a configuration is whole"},
    {"diff", diff, "what it would change"},
    {"apply", apply, "become what it says: all of it, or nothing"},
    {"reload", reload, "apply the file that turnpike was started with, as SIGHUP does"},
    {"clear", clear, "what: counters; what `show` counts begins at 0 again"},
};

std::string requests::greeting() {
    return text_of({{"schema", "turnpike.control/1"}, {"version", version}});
}

std::string requests::refusal(const error& why) {
    const char* name = ::strerrorname_np(why.code);
    return text_of({{"error",
                     {{"what", printable(why.text)},
                      {"where", why.object.empty() ? json(nullptr) : json(printable(why.object))},
                      {"code", name != nullptr ? name : "EIO"}}}});
}

std::string requests::answer(std::string_view line, const sources::socket_peer& from) {
    try {
        const json request = parse(line);
        const request_fields fields(request);
        const std::string name = fields.text("request");
        for (const request_table::row& r : request_table::rows)
            if (r.name == name) return text_of({{"result", r.make(*this, fields, from)}});
        return refusal({EINVAL, "request",
                        "there is no request '" + name.substr(0, 80) + "'; ask for \"help\""});
    } catch (const error& e) {
        return refusal(e);
    } catch (const std::bad_alloc&) {
        return refusal({ENOMEM, {}, "no memory for the answer"});
    } catch (const std::exception& e) {
        return refusal({EIO, {}, e.what()});
    }
}

result<state::changes> requests::reload(const std::string& who) {
    auto wanted = sources::load(file_);
    auto applied =
        wanted ? controller_.apply(std::make_unique<const state::desired>(std::move(*wanted)))
               : result<state::changes>(tl::unexpected<error>(wanted.error()));
    const std::string by = who.empty() ? "" : who + ": ";
    if (applied)
        observe::say(by + "reloaded " + file_ + ": " + applied->text() + " changed");
    else
        observe::say(by + "not reloaded, what runs stays: " + applied.error().message());
    return applied;
}

}  // namespace turnpike::control
