// SPDX-License-Identifier: BSD-3-Clause
#include "control/forwarding/acls.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <set>

#include "base/cache_line.hpp"

namespace turnpike::control {
namespace {

constexpr uint32_t nowhere = UINT32_MAX;

/// Counters of unnamed rules restart with each list; the default action's continue.
std::map<std::string, uint32_t> ids_by_name(const datapath::acl_list& l) {
    std::map<std::string, uint32_t> out;
    const auto& rules = l.says().rules;
    for (size_t i = 0; i < rules.size(); ++i)
        if (!rules[i].name.empty()) out[rules[i].name] = l.id_at(i);
    out["default"] = l.id_at(rules.size());
    return out;
}

const datapath::bound_acl*& bound_at(const state::acl_binding& where, datapath::interface& on) {
    if (where.l2) return where.out ? on.l2_out : on.l2_in;
    return where.out ? on.acl_out : on.acl_in;
}

void add_stage(const state::acl_binding& where, datapath::interface_paths& path) {
    using datapath::stage;
    if (where.out)
        path.output |= bit(stage::acl_out);
    else
        path.input |= bit(where.l2 ? stage::acl_l2 : stage::acl_in);
}

bool denies(const state::acl_list& l, size_t ifindex) {
    return ifindex < l.rules.size() ? l.rules[ifindex].action == state::acl_action::deny
                                    : !l.default_permits;
}

}  // namespace

acls::~acls() = default;

const acls::rule_ids& acls::known_ids::of(const list& l) {
    const auto [at, is_new] = known_.try_emplace(l);
    if (is_new) at->second = ids_by_name(*l);
    return at->second;
}

/// Throws std::bad_alloc.
std::unique_ptr<acls::binding> acls::make(const list& of, size_t workers, const binding* before,
                                          known_ids& known) {
    auto b = std::make_unique<binding>();
    b->live.list = of;
    constexpr size_t line_apart = cache_line_bytes / sizeof(datapath::acl_counter);
    const uint32_t ids = of->id_limit();
    for (size_t w = 0; w < workers; ++w)
        b->live.counters.push_back(std::make_unique<datapath::acl_counter[]>(ids + line_apart));
    b->earlier.assign(workers, std::vector<count>(ids));
    b->before_id.assign(ids, nowhere);
    b->life = before == nullptr ? observe::new_life() : before->life;
    for (uint32_t id = 0; id < ids; ++id) b->rule_life.push_back(observe::new_life());
    if (before == nullptr) return b;
    if (before->live.list == of) {
        std::iota(b->before_id.begin(), b->before_id.end(), 0U);
        b->rule_life = before->rule_life;
        return b;
    }
    const rule_ids& there = known.of(before->live.list);
    for (const auto& [name, id] : known.of(of))
        if (const auto same = there.find(name); same != there.end()) {
            b->before_id[id] = same->second;
            b->rule_life[id] = before->rule_life[same->second];
        }
    return b;
}

class acls::prepared_acls : public prepared_change {
    using one_rule = datapath::acl_list::one_rule;

  public:
    prepared_acls(acls& of, size_t workers) : of_(of), workers_(workers) {}
    ~prepared_acls() override {
        if (committed_ || changed_ == nullptr) return;
        try {
            if (changed_->change_one_rule(before_config_) == one_rule::changed) return;
        } catch (const std::bad_alloc&) {  // keep the previous list
        }
        of_.incomplete_ = true;
    }

    result<void> compile_lists(const transaction& c) {
        for (const auto& [name, i] : c.after.interfaces)
            for (const state::acl_binding& at : state::acl_bindings) {
                const std::string& bound = i.*at.list;
                if (bound.empty() || lists_.contains(bound)) continue;
                if (auto done = add_list(c, bound); !done) return done;
            }
        for (const auto& [name, m] : c.after.mirrors)
            if (!m.list.empty() && !lists_.contains(m.list))
                if (auto done = add_list(c, m.list); !done) return done;
        return {};
    }
    [[nodiscard]] const acls::lists& compiled_lists() const noexcept { return lists_; }
    void bind(transaction& c) {
        for (const auto& [name, i] : c.after.interfaces)
            for (const state::acl_binding& at : state::acl_bindings) {
                const std::string& bound = i.*at.list;
                if (bound.empty()) continue;
                const uint16_t ifindex = c.ifindex_of.at(name);
                bound_at(at, c.snapshot->interfaces[ifindex]) =
                    bind(name, ifindex, at, lists_.at(bound));
                add_stage(at, c.snapshot->paths[ifindex]);
            }
        for (const auto& [name, i] : c.after.interfaces) {
            if (i.bridge.empty()) continue;
            datapath::interface_paths& path = c.snapshot->paths[c.ifindex_of.at(name)];
            const bool routes = i.port.empty();
            if (routes ? c.after.lists_behind(i.bridge) : c.after.lists_look_into(i))
                (routes ? path.output : path.input) |= bit(datapath::stage::ip_input);
        }
    }
    void commit() noexcept override {
        committed_ = true;
        for (size_t i = 0; i < next_.size(); ++i) {
            if (was_[i] == none) continue;
            auto& old = of_.bindings_[was_[i]];
            if (next_[i] == nullptr)
                next_[i] = std::move(old);
            else
                next_[i]->before = std::move(old);
        }
        of_.bindings_.swap(next_);
        of_.lists_.swap(lists_);
        of_.incomplete_ = false;
    }
    /// Not in retire(): the sums of long lists would hold up control.
    void settle() noexcept override {
        for (auto& b : of_.bindings_)
            if (b->before != nullptr) b->end_before();
    }

  private:
    static constexpr size_t none = SIZE_MAX;

    result<void> add_list(const transaction& c, const std::string& name) {
        auto ready = ready_list(c, *c.after.acls.at(name));
        if (!ready) return tl::unexpected<error>(ready.error());
        lists_.emplace(name, *ready);
        return {};
    }
    /// The running list, with one rule changed, or a new one.
    result<list> ready_list(const transaction& c, const state::acl_list& config) {
        if (list same = of_.unchanged(c, config.name)) return same;
        if (const auto made = c.compiled.find(config.name); made != c.compiled.end())
            return made->second;
        const auto there = of_.lists_.find(config.name);
        const bool good = there != of_.lists_.end() && !of_.incomplete_;
        auto says = std::make_shared<const state::acl_list>(config);
        // One list at most: a failure of another owner leaves only this rule to roll back. Not in a change that closes
        // ports and opens others, which takes seconds and may fail: the rule would be in force meanwhile.
        if (good && c.what.acls.changed.size() == 1 && !c.open_rest) {
            auto before = std::make_shared<const state::acl_list>(there->second->says());
            const one_rule came_of_it = there->second->change_one_rule(says);
            if (came_of_it == one_rule::changed) {
                changed_ = there->second;
                before_config_ = std::move(before);
                return there->second;
            }
            of_.incomplete_ = came_of_it == one_rule::broken;
        }
        return datapath::acl_list::compile(std::move(says), of_.hook());
    }
    const datapath::bound_acl* bind(const std::string& name, uint16_t ifindex,
                                    const state::acl_binding& where, const list& by) {
        const auto& now = of_.bindings_;
        const auto at = std::find_if(now.begin(), now.end(), [&](const auto& b) {
            return b->interface == ifindex && b->direction == where.name &&
                   b->says().name == by->says().name;
        });
        next_.reserve(next_.size() + 1);
        was_.push_back(at == now.end() ? none : static_cast<size_t>(at - now.begin()));
        if (at != now.end() && (*at)->live.list == by && (*at)->live.counters.size() == workers_) {
            next_.emplace_back();
            return &(*at)->live;
        }
        auto fresh = make(by, workers_, at == now.end() ? nullptr : at->get(), names_);
        fresh->interface = ifindex;
        fresh->interface_name = name;
        fresh->direction = where.name;
        next_.push_back(std::move(fresh));
        return &next_.back()->live;
    }

    acls& of_;
    const size_t workers_;  ///< number of counter arrays
    std::map<std::string, list, std::less<>> lists_;
    std::vector<std::unique_ptr<binding>> next_;
    known_ids names_;
    std::vector<size_t> was_;  ///< by index in next_: the binding whose counters it continues
    list changed_;             ///< list with one rule changed
    std::shared_ptr<const state::acl_list> before_config_;  ///< its previous contents
    bool committed_ = false;
};

acls::list acls::unchanged(const transaction& c, const std::string& name) const {
    const auto there = lists_.find(name);
    const bool differs = std::find(c.what.acls.changed.begin(), c.what.acls.changed.end(), name) !=
                         c.what.acls.changed.end();
    return there == lists_.end() || incomplete_ || differs ? nullptr : there->second;
}

namespace {

thread_local bool compiles_unpublished = false;

/// During its lifetime, tables that this thread changes have no readers.
class unpublished {
  public:
    unpublished() noexcept { compiles_unpublished = true; }
    ~unpublished() { compiles_unpublished = false; }
    unpublished(const unpublished&) = delete;
    unpublished& operator=(const unpublished&) = delete;
};

}  // namespace

rcu::defer_free acls::hook() const noexcept {
    return {&rcu_, [](void* domain, rcu::deferred item) {
                if (compiles_unpublished) return item.release(item.owner, item.what);
                static_cast<rcu::qsbr*>(domain)->hook()(item);
            }};
}

result<acls::lists> acls::compile_changed(const bound_lists& now,
                                          const state::configuration& before,
                                          const state::configuration& after) const {
    const auto says = [&](const std::string& name) {
        const auto* const there = before.acls.find(name);
        return there == nullptr ? nullptr : &**there;
    };
    std::set<std::string> names;
    for (const auto& [name, i] : after.interfaces)
        for (const state::acl_binding& at : state::acl_bindings)
            if (!(i.*at.list).empty()) names.insert(i.*at.list);
    for (const auto& [name, m] : after.mirrors)
        if (!m.list.empty()) names.insert(m.list);
    const auto differs = [&](const std::string& name) {
        const state::acl_list *const was = says(name), *const is = &*after.acls.at(name);
        return was != is && (was == nullptr || !(*was == *is));
    };
    std::erase_if(names, [&](const std::string& name) {
        return !now.incomplete && now.by_name.contains(name) && !differs(name);
    });
    // prepare() changes one rule of one list.
    const bool one = names.size() == 1 && !now.incomplete;
    const unpublished here;  // while the lists of a change that is refused are freed, too
    lists out;
    for (const std::string& name : names) {
        const state::acl_list& to = *after.acls.at(name);
        const auto there = now.by_name.find(name);
        if (one && there != now.by_name.end() && there->second->differs_by_one_rule(to)) continue;
        auto made =
            datapath::acl_list::compile(std::make_shared<const state::acl_list>(to), hook());
        if (!made) return tl::unexpected<error>(made.error());
        out.emplace(name, std::move(*made));
    }
    return out;
}

result<std::unique_ptr<prepared_change>> acls::prepare(transaction& c) {
    auto ready = std::make_unique<prepared_acls>(*this, c.workers.size());
    if (auto done = ready->compile_lists(c); !done) return tl::unexpected<error>(done.error());
    c.lists = ready->compiled_lists();
    ready->bind(c);
    return ready;
}

acls::count acls::binding::counted(size_t worker, uint32_t id) const noexcept {
    if (worker >= live.counters.size()) return {};  // the worker was added later
    const datapath::acl_counter& c = live.counters[worker][id];
    count sum = earlier[worker][id];
    sum.packets += c.packets.read();
    sum.bytes += c.bytes.read();
    if (before == nullptr || before_id[id] == nowhere) return sum;
    const count more = before->counted(worker, before_id[id]);
    return {sum.packets + more.packets, sum.bytes + more.bytes};
}

acls::totals acls::binding::classified() const noexcept {
    totals sum = before != nullptr ? before->classified() : totals{};
    sum.permitted += earlier_totals.permitted;
    sum.denied += earlier_totals.denied;
    for (uint32_t id = 0; id < live.list->id_limit(); ++id) {
        const state::acl_action action = live.list->action_of(id);
        if (action == state::acl_action::count) continue;
        for (const auto& counters : live.counters)
            (action == state::acl_action::deny ? sum.denied : sum.permitted) +=
                counters[id].packets.read();
    }
    return sum;
}

const acls::binding::page_totals& acls::binding::totals_of_page(size_t first_rule) const {
    const auto now = std::chrono::steady_clock::now();
    if (first_rule == 0 || now - paged.at > std::chrono::seconds(1))
        paged = {classified(), live.list->bytes(), now};
    return paged;
}

/// A grace period is over: the previous binding's counters are final.
void acls::binding::end_before() noexcept {
    for (size_t w = 0; w < earlier.size(); ++w)
        for (uint32_t id = 0; id < before_id.size(); ++id)
            if (const uint32_t there = before_id[id]; there != nowhere) {
                const count c = before->counted(w, there);
                earlier[w][id].packets += c.packets;
                earlier[w][id].bytes += c.bytes;
            }
    earlier_totals = before->classified();
    before.reset();
}

namespace {

/// At most `max_rules` rules of a list and its default action, not counted.
observe::acl_report rules_of(const state::acl_list& says, size_t first_rule, size_t max_rules) {
    observe::acl_report out{.list = says.name, .first_rule = first_rule};
    const size_t end = first_rule + std::min(max_rules, says.rules.size() + 1 - first_rule);
    for (size_t position = first_rule; position < end; ++position) {
        observe::acl_rule_report r{.name = "default",
                                   .action = denies(says, position) ? "deny" : "permit"};
        if (position < says.rules.size()) {
            const state::acl_rule& rule = says.rules[position];
            r.name = rule.name;
            r.action = state::acl_action_names[static_cast<size_t>(rule.action)];
            r.where = rule.where.text;
        }
        out.rules.push_back(std::move(r));
    }
    return out;
}

}  // namespace

observe::acl_report acls::report_of(const binding& b, size_t first_rule, size_t max_rules) {
    const binding::page_totals& sums = b.totals_of_page(first_rule);
    observe::acl_report out = rules_of(b.says(), first_rule, max_rules);
    out.interface = b.interface_name;
    out.direction = b.direction;
    out.search4 = b.live.list->search_of(false);
    out.search6 = b.live.list->search_of(true);
    out.life = b.life;
    out.permitted = sums.classified.permitted;
    out.denied = sums.classified.denied;
    out.bytes = sums.bytes;
    for (size_t i = 0; i < out.rules.size(); ++i) {
        const uint32_t id = b.live.list->id_at(first_rule + i);
        observe::acl_rule_report& r = out.rules[i];
        r.life = b.rule_life[id];
        for (size_t w = 0; w < b.live.counters.size(); ++w) {
            const count c = b.counted(w, id);
            r.packets += c.packets;
            r.bytes += c.bytes;
            r.by_worker.push_back(c.packets);
        }
    }
    return out;
}

std::vector<observe::acl_report> acls::report(size_t max_rules) const {
    std::vector<observe::acl_report> out;
    for (const auto& b : bindings_)
        out.push_back(report_of(*b, 0, b->says().rules.size() > max_rules ? 0 : SIZE_MAX));
    return out;
}

acls::page acls::report_page(const state::configuration& all, uint64_t from, uint64_t max_rules,
                             bool rules) const {
    page out;
    uint64_t at = 0, shown = 0;  // numbers of the list's first rule, and of rules on the page
    // False: the page is full.
    const auto add = [&](const state::acl_list& says, const binding* b) {
        const uint64_t size = rules ? says.rules.size() + 1 : 1;  // with the default action
        const uint64_t first = std::max(from, at) - at;
        if (first < size) {
            const uint64_t some = std::min(max_rules - shown, size - first);
            if (some != 0)
                out.lists.push_back(b != nullptr ? report_of(*b, first, rules ? some : 0)
                                                 : rules_of(says, first, rules ? some : 0));
            shown += some;
            if (first + some < size) {
                out.next = at + first + some;
                return false;
            }
        }
        at += size;
        return true;
    };
    std::set<std::string_view> bound;
    for (const auto& b : bindings_) {
        if (!add(b->says(), b.get())) return out;
        bound.insert(b->says().name);
    }
    for (const auto& [name, free] : all.acls)
        if (!bound.contains(name) && !add(*free, nullptr)) break;
    return out;
}

uint64_t acls::table_bytes() const noexcept {
    uint64_t sum = 0;
    for (const auto& [name, one] : lists_) sum += one->bytes();
    return sum;
}

std::string_view acls::kernel() const noexcept {
    return lists_.empty() ? std::string_view{} : lists_.begin()->second->kernel();
}

}  // namespace turnpike::control
