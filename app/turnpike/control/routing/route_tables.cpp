// SPDX-License-Identifier: BSD-3-Clause
#include "control/routing/route_tables.hpp"

#include <algorithm>

namespace turnpike::control {

const std::string& vrfs::name_of(uint8_t index) const noexcept {
    static const std::string none;
    for (const auto& [name, p] : indexes_)
        if (p == index) return name;
    return none;
}

class vrfs::prepared_vrfs : public prepared_change {
  public:
    prepared_vrfs(vrfs& of, transaction& c) : of_(of) {
        std::array<bool, datapath::max_vrfs> used{true};
        for (const auto& [name, index] : of_.indexes_) used[index] = true;
        after_.emplace("", uint8_t{0});
        for (const auto& [name, v] : c.after.vrfs) {
            const auto was = of_.indexes_.find(name);
            const auto index = static_cast<uint8_t>(
                was != of_.indexes_.end()
                    ? was->second
                    : std::find(used.begin(), used.end(), false) - used.begin());
            used[index] = true;
            after_.emplace(name, index);
        }
        for (const auto& [name, index] : after_) {
            c.derived[index];
            c.snapshot->vrf.resize(std::max<size_t>(c.snapshot->vrf.size(), index + size_t{1}));
        }
        c.vrf_index_of = after_;
    }
    void commit() noexcept override { of_.indexes_.swap(after_); }

  private:
    vrfs& of_;
    std::map<std::string, uint8_t, std::less<>> after_;
};

/// A removed VRF keeps its index until the end of the grace period, so a new one needs another
/// index.
result<std::unique_ptr<prepared_change>> vrfs::prepare(transaction& c) {
    const auto fresh = static_cast<size_t>(
        std::count_if(c.after.vrfs.begin(), c.after.vrfs.end(),
                      [&](const auto& v) { return !indexes_.contains(v.first); }));
    if (std::max<size_t>(indexes_.size(), 1) + fresh > datapath::max_vrfs)
        return fail(ENOSPC, c.after.file,
                    "too many VRFs at a time, with those being removed: delete some first");
    return std::make_unique<prepared_vrfs>(*this, c);
}

result<std::unique_ptr<route_tables>> route_tables::create(rcu::qsbr& rcu, next_hops& nexthops) {
    std::unique_ptr<route_tables> made(new route_tables(rcu, nexthops));
    auto main = routes::create(rcu, nexthops);
    if (!main) return tl::unexpected<error>(main.error());
    made->tables_[0] = std::move(*main);
    return made;
}

result<void> route_tables::set_host(uint8_t vrf, const ip_address& a, uint32_t nexthop,
                                    uint32_t link_nexthop) {
    return tables_[vrf] == nullptr ? result<void>{}
                                   : tables_[vrf]->set_host(a, nexthop, link_nexthop);
}

result<void> route_tables::clear_host(uint8_t vrf, const ip_address& a, uint32_t nexthop) {
    return tables_[vrf] == nullptr ? result<void>{} : tables_[vrf]->clear_host(a, nexthop);
}

uint32_t route_tables::lookup(uint8_t vrf, const ip_address& destination) const noexcept {
    return tables_[vrf] == nullptr ? datapath::fixed_nexthop::no_route
                                   : tables_[vrf]->lookup(destination);
}

bool route_tables::incomplete() const noexcept {
    return std::any_of(tables_.begin(), tables_.end(),
                       [](const auto& t) { return t != nullptr && t->incomplete(); });
}

size_t route_tables::left_out() const noexcept {
    size_t n = 0;
    for (const auto& t : tables_) n += t == nullptr ? 0 : t->left_out();
    return n;
}

bool route_tables::has_room() const noexcept {
    return std::any_of(tables_.begin(), tables_.end(),
                       [](const auto& t) { return t != nullptr && t->has_room(); });
}

std::pair<uint64_t, uint64_t> route_tables::count() const noexcept {
    std::pair<uint64_t, uint64_t> out{};
    for (const auto& t : tables_) {
        if (t == nullptr) continue;
        out.first += t->v4().stats().routes;
        out.second += t->v6().stats().routes;
    }
    return out;
}

class route_tables::prepared_tables : public prepared_change {
  public:
    explicit prepared_tables(route_tables& of) : of_(of) {}

    result<void> add(transaction& c, routes_in_progress& r) {
        for (vrf_routes& t : r.tables) {
            std::shared_ptr<routes> table = of_.tables_[t.vrf];
            if (table == nullptr) {
                auto made = routes::create(of_.rcu_, of_.nexthops_);
                if (!made) return tl::unexpected<error>(made.error());
                table = std::move(*made);
            }
            after_[t.vrf] = table;
            c.snapshot->vrf[t.vrf].fib4 = &table->v4();
            c.snapshot->vrf[t.vrf].fib6 = &table->v6();
            auto ready = table->prepare(t, c.retries);
            if (!ready) return tl::unexpected<error>(ready.error());
            ready_.push_back(std::move(*ready));
        }
        return {};
    }
    void commit() noexcept override {
        for (const auto& one : ready_) one->commit();
        of_.tables_.swap(after_);
    }
    // Removed tables are destroyed with this object, after the grace period.

  private:
    route_tables& of_;
    std::array<std::shared_ptr<routes>, datapath::max_vrfs> after_{};
    std::vector<std::unique_ptr<prepared_change>> ready_;
};

result<std::unique_ptr<prepared_change>> route_tables::prepare(transaction& c,
                                                               routes_in_progress& r) {
    auto ready = std::make_unique<prepared_tables>(*this);
    if (auto done = ready->add(c, r); !done) return tl::unexpected<error>(done.error());
    return ready;
}

}  // namespace turnpike::control
