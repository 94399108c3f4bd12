// SPDX-License-Identifier: BSD-3-Clause
#include "control/management/change_requests.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "control/management/client_devices.hpp"
#include "control/management/pcie_bill.hpp"
#include "observe/console.hpp"
#include "sources/compare.hpp"
#include "sources/edits.hpp"
#include "sources/file_access.hpp"
#include "sources/saved_file.hpp"
#include "sources/yaml.hpp"
#include "state/validate.hpp"
#include "version.hpp"
#include "yaml/write_file.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::control {

using nlohmann::json;

namespace {

constexpr uint64_t longest_undo_s = 24 * 3600;
/// Limit of incomplete uploads, for all connections.
constexpr size_t max_pending_routes = 2 * sources::route_stream::most;

json names_of(const state::change_list<std::string>& l) {
    return {{"removed", l.removed}, {"added", l.added}, {"changed", l.changed}};
}

/// The differences: objects by name where they are few, by number where they are many.
json changes_json(const state::changes& c) {
    return {{"text", c.text()},
            {"ports", names_of(c.ports)},
            {"reopened", c.reopened},
            {"interfaces", names_of(c.interfaces)},
            {"bridges", names_of(c.bridges)},
            {"tunnels", names_of(c.tunnels)},
            {"mirrors", names_of(c.mirrors)},
            {"acls", names_of(c.acls)},
            {"neighbours",
             {{"removed", c.neighbours.removed.size()},
              {"added", c.neighbours.added.size()},
              {"changed", c.neighbours.changed.size()}}},
            {"vrfs", names_of(c.vrfs)},
            {"routes",
             {{"removed", c.removed_routes()}, {"set", c.route_count() - c.removed_routes()}}},
            {"workers", c.workers},
            {"settings", c.settings}};
}

void taken(const result<void>& r) {
    if (!r) throw r.error();
}

template <class T>
T taken(result<T> r) {
    if (!r) throw r.error();
    return std::move(*r);
}
template <class T>
T taken(tl::expected<T, state::errors> r) {
    if (!r) throw wrong_configuration{std::move(r.error())};
    return std::move(*r);
}

/// The differences with their lines.
json compared(const state::configuration& before, const state::configuration& after) {
    json out = changes_json(taken(state::diff(before, after)));
    out["compare"] = sources::compare(before, after);
    return out;
}

/// A short line of text.
std::string line_in(const request_fields& f, const char* member, size_t longest) {
    std::string line = f.text(member);
    if (line.size() > longest || printable(line) != line)
        throw error{EINVAL, member,
                    fmt::format("should be a line of at most {} bytes of text", longest)};
    return line;
}

/// The configuration in a request: a text with a name, in the request or in a file whose descriptor came with it; or a file
/// on this machine.
state::configuration config_of_request(const request_fields& f, const sources::socket_peer& client,
                                       const state::configuration& now) {
    const bool is_sent = client.descriptor >= 0;
    if (int{f.has("file")} + int{f.has("text")} + int{is_sent} != 1)
        throw error{
            EINVAL,
            {},
            "either \"text\" or a descriptor (SCM_RIGHTS), with a \"name\" for messages, or "
            "\"file\""};
    // In `origin` of each object, in the history and in the log.
    const std::string name = line_in(f, f.has("file") ? "file" : "name", 4095);
    // fstat() and pread() of other files may block (NFS, FUSE).
    if (is_sent && ::fcntl(client.descriptor, F_GET_SEALS) < 0)
        throw error{EINVAL, name,
                    "is sent by a descriptor that is not of a file in memory (memfd_create)"};
    std::string sent;
    if (is_sent) sent = taken(yaml::read_file(client.descriptor, name));
    tl::expected<state::configuration, state::errors> out;
    taken(sources::with_file_access_of(client, [&] {
        out = f.has("file") ? sources::load_whole(name)
                            : sources::load_whole_text(is_sent ? sent : f.text("text"), name);
    }));
    state::configuration config = taken(std::move(out));
    taken(check_devices_of(client, now, config));
    taken(check_pcie(config));
    return config;
}

void log_old_keys(const state::configuration& of) {
    for (const std::string& line : of.old_keys) observe::log(observe::log_level::warning, line);
}

/// A mutable copy of the running configuration; its parts are shared.
std::shared_ptr<state::configuration> copy_of(const state::configuration& d) {
    return std::make_shared<state::configuration>(d);
}

/// The error of an object that edits of others made wrong, without the line of the file that the object once came from: its
/// text names the object.
error of_edits(error e, const std::string& file) {
    if (e.object == file) e.object.clear();
    if (file.empty() || !e.object.starts_with(file + ":")) return e;
    const size_t behind = e.object.find(": ", file.size());  // FILE:LINE: port 'west'
    e.object.erase(0, behind == std::string::npos ? behind : behind + 2);
    return e;
}

std::optional<std::chrono::seconds> undo_time(const request_fields& f) {
    if (!f.has("confirm")) return std::nullopt;
    return std::chrono::seconds(f.number_or("confirm", 0, 1, longest_undo_s));
}

/// The operator's words on the change, for the history and the log.
std::string comment_of(const request_fields& f) {
    return f.has("comment") ? line_in(f, "comment", 200) : std::string();
}

/// The ports that a list of edits names.
std::vector<std::string> ports_in(const std::string& list) {
    std::vector<std::string> out;
    for (const json& one : json::parse(list))
        for (const json& what : one)
            if (const auto port = what.find("port"); port != what.end() && port->contains("name")) {
                const json& name = port->at("name");  // a number is read as text
                out.push_back(name.is_string() ? name.get<std::string>() : name.dump());
            }
    return out;
}

}  // namespace

std::string who_is(const sources::socket_peer& p) {
    return fmt::format("uid {} (process {})", p.uid, p.pid);
}

json change_requests::check(const request_fields& f, const peer& from) const {
    f.expect("text name file");
    return {{"valid", config_of_request(f, from, *running()).file}};
}

json change_requests::diff(const request_fields& f, const peer& from) const {
    f.expect("text name file");
    return compared(*running(), config_of_request(f, from, *running()));
}

/// With the time until the change is undone (null: it awaits no confirmation, as a change of nothing), and the id by which
/// it is confirmed.
json change_requests::with_undo(json changes) const {
    changes["id"] = history_.states().front().id;
    const auto left = history_.undone_in();
    changes["undone_in_s"] = left ? json(left->count()) : json(nullptr);
    return changes;
}

/// member  has the id of the running configuration, if the request has the member: else another one runs meanwhile
void change_requests::expect_running(const request_fields& f, const char* member) const {
    const past_state& now = history_.states().front();
    if (f.has(member) && f.number_or(member, 0, 1, UINT64_MAX) != now.id)
        throw error{EBUSY, member,
                    fmt::format("the running configuration was changed meanwhile, by {}: {}",
                                now.cause.by, printable(now.cause.what))};
}

json change_requests::apply(const request_fields& f, const peer& from) {
    f.expect("text name file confirm comment base");
    expect_running(f, "base");
    auto config =
        std::make_shared<const state::configuration>(config_of_request(f, from, *running()));
    log_old_keys(*config);
    const change_cause cause{who_is(from), "apply " + config->file, comment_of(f)};
    return with_undo(
        changes_json(taken(history_.apply(std::move(config), cause, undo_time(f), {.all = true}))));
}

const past_state* change_requests::base_of(const request_fields& f) const {
    if (!f.has("base")) return nullptr;
    const past_state* const out = history_.find(f.number_or("base", 0, 1, UINT64_MAX));
    if (out == nullptr)
        throw error{ENOENT, "base",
                    fmt::format("the configuration is not kept any more: only the last {} are",
                                history::kept)};
    return out;
}

/// Edit one object or several, all or none: of the running configuration, or of `base`, an earlier one.
json change_requests::change(const request_fields& f, const peer& from) {
    f.expect("do confirm dry base unless_changed comment");
    expect_running(f, "unless_changed");
    const std::string list = f.json_text("do");
    const past_state* const base = base_of(f);
    auto config = copy_of(base != nullptr ? *base->state : *running());
    result<void> made;
    taken(
        sources::with_file_access_of(from, [&] { made = sources::edit_unchecked(*config, list); }));
    taken(made);
    taken(check_devices_of(from, *running(), *config));
    const std::string source = config->file;
    const auto valid = state::validate(*config)
                           .and_then([&] { return check_pcie(*config); })
                           .map_error([&](const error& e) { return of_edits(e, source); });
    if (f.truth_or("dry", false)) {
        json out = compared(*running(), *config);
        out["id"] = history_.states().front().id;
        if (!valid) out["invalid"] = error_json(valid.error());  // later edits may complete it
        return out;
    }
    taken(valid);
    log_old_keys(*config);
    constexpr size_t longest = 200;  // limit of the log line
    std::string what =
        "change " + (list.size() <= longest ? list : list.substr(0, longest) + "...");
    if (base != nullptr)
        what = "rollback to \"" + base->cause.what + "\"" + (list == "[]" ? "" : ", " + what);
    auto done = history_.apply(std::move(config), {who_is(from), std::move(what), comment_of(f)},
                               undo_time(f), {.named = ports_in(list)});
    if (!done) throw of_edits(std::move(done.error()), source);
    return with_undo(changes_json(*done));
}

/// Route lines, in parts; applied with the last part.
json change_requests::routes(const request_fields& f, const peer& from) {
    f.expect("lines more vrf comment");
    size_t staged = 0;
    for (const auto& [connection, s] : streams_) staged += s.size();
    try {
        sources::route_stream& all = streams_[from.connection];
        if (staged > max_pending_routes)
            throw error{ENOSPC, {}, "too many route changes in incomplete uploads"};
        std::string vrf = f.has("vrf") ? f.text("vrf") : std::string();
        if (vrf == "main") vrf.clear();
        taken(all.add_lines(f.text("lines"), *running(), vrf));
        if (f.truth_or("more", false)) return {{"taken", all.changes()}};
        auto config = copy_of(*running());
        const size_t count = all.changes();
        taken(all.make(*config));
        const std::string what = fmt::format("{} route line{}", count, count == 1 ? "" : "s");
        streams_.erase(from.connection);
        return with_undo(changes_json(
            taken(history_.apply(std::move(config), {who_is(from), what, comment_of(f)}))));
    } catch (...) {
        streams_.erase(from.connection);
        throw;
    }
}

json change_requests::reload(const request_fields& f, const peer& from) {
    f.expect("comment");
    return with_undo(changes_json(taken(reload(who_is(from), comment_of(f)))));
}

tl::expected<state::changes, state::errors> change_requests::reload(const std::string& by,
                                                                    const std::string& comment) {
    const change_cause cause{by, "reload " + file_, comment};
    // Before the file is read, which may wait for its disk: the pending change would not roll back in time.
    if (const auto waits = history_.settled(); !waits) {
        log_change(tl::unexpected<error>(waits.error()), cause, running()->file, file_);
        return tl::unexpected<state::errors>({waits.error()});
    }
    auto config = sources::load_whole(file_);
    if (!config) {
        for (const error& e : config.error())
            log_change(tl::unexpected<error>(e), {by, "reload", comment}, running()->file, file_);
        return tl::unexpected<state::errors>(std::move(config.error()));
    }
    log_old_keys(*config);
    auto changed = history_.apply(std::make_shared<const state::configuration>(std::move(*config)),
                                  cause, std::nullopt, {.all = true});
    if (!changed) return tl::unexpected<state::errors>({std::move(changed.error())});
    history_.saved();
    return std::move(*changed);
}

json change_requests::rollback(const request_fields& f, const peer& from) {
    f.expect("back comment");
    return with_undo(changes_json(taken(
        history_.rollback(f.number_or("back", 1, 1, history::kept), who_is(from), comment_of(f)))));
}

json change_requests::confirm(const request_fields& f, const peer& from) {
    f.expect("id");
    const past_state& now = history_.states().front();
    if (history_.undone_in() && f.has("id") && f.number_or("id", 0, 1, UINT64_MAX) != now.id)
        throw error{EBUSY, "id",
                    fmt::format("another change awaits confirmation, by {}: {}", now.cause.by,
                                printable(now.cause.what))};
    taken(history_.confirm(who_is(from)));
    return {{"confirmed", history_.states().front().cause.what}};
}

json change_requests::states(const request_fields& f) const {
    f.expect("");
    json list = json::array();
    size_t back = 0;
    for (const past_state& s : history_.states())
        list.push_back(
            {{"back", back++},
             {"id", s.id},
             {"by", s.cause.by},
             {"what", s.cause.what},
             {"comment", s.cause.comment.empty() ? json(nullptr) : json(s.cause.comment)},
             {"when", s.when}});
    const auto left = history_.undone_in();
    return {{"states", std::move(list)},
            {"unsaved", history_.unsaved()},
            {"undone_in_s", left ? json(left->count()) : json(nullptr)}};
}

json change_requests::save(const request_fields& f, const peer& from) {
    f.expect("");
    taken(history_.settled());  // a pending change must not become the next start's configuration
    const std::string text = sources::saved_text(*running(), version);
    if (text.size() > max_file_bytes_)  // the next start would refuse it
        throw error{
            EFBIG, file_,
            fmt::format("the configuration has {} bytes as text, more than the maximum of {} "
                        "bytes; keep routes in a separate file",
                        text.size(), max_file_bytes_)};
    const bool kept = taken(sources::back_up_operators_file(
        file_, "give turnpike's user access, move the file away, or `turnpikectl save FILE`"));
    taken(yaml::write_file(file_, text));
    history_.saved();
    observe::log(observe::log_level::notice, who_is(from) + ": saved as " + file_,
                 {{"who", who_is(from)}, {"what", "save"}, {"to", file_}});
    json out = {{"saved", file_}};
    if (kept) out["old"] = file_ + ".old";
    return out;
}

std::shared_ptr<const change_requests::written> change_requests::write_running() const {
    const auto now = running();
    for (const auto& [connection, one] : read_)
        if (one->of.lock() == now) return one;
    return std::make_shared<const written>(written{now, sources::saved_text(*now, version)});
}

/// The text that save() would write, by the page.
json change_requests::configuration(const request_fields& f, const peer& from) {
    f.expect("from");
    constexpr size_t page = 512 * 1024;
    const uint64_t at = f.number_or("from", 0, 0, UINT64_MAX);
    if (at == 0) read_[from.connection] = write_running();
    const auto mine = read_.find(from.connection);
    if (mine == read_.end() || mine->second->of.lock() != running() ||
        at > mine->second->text.size()) {
        if (mine != read_.end()) read_.erase(mine);
        throw error{EBUSY, "from", "the configuration has changed meanwhile; start again"};
    }
    const std::string& text = mine->second->text;
    uint64_t end = std::min<uint64_t>(at + page, text.size());
    while (end > at && end < text.size() && (text[end] & 0xc0) == 0x80)
        --end;  // UTF-8: whole characters
    json out = {{"text", text.substr(at, end - at)}, {"next", nullptr}};
    if (end < text.size())
        out["next"] = end;
    else
        read_.erase(mine);
    return out;
}

}  // namespace turnpike::control
