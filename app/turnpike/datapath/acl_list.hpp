// SPDX-License-Identifier: BSD-3-Clause
// Access lists as workers judge by them. A list is compiled whole; after that single rules may come
// and go in it under its readers (lib/acl), anything else is another list.
//
// A rule has an id for as long as it is in the list, and a priority that leaves room for others
// between it and its neighbours: so a rule in the middle changes nothing of the others.
#pragma once

#include <memory>
#include <vector>

#include "acl/acl.hpp"
#include "base/result.hpp"
#include "cost/counter.hpp"
#include "rcu/defer.hpp"
#include "state/acl.hpp"

namespace turnpike::datapath {

/// What lib/acl answers for a rule. Never 0: that is no rule.
constexpr uint32_t acl_hit(uint32_t id, bool deny) noexcept {
    return (id + 1) << 1 | (deny ? 1 : 0);
}
constexpr uint32_t acl_id(uint32_t hit) noexcept { return (hit >> 1) - 1; }
constexpr bool acl_denies(uint32_t hit) noexcept { return (hit & 1) != 0; }

/// Threads  control changes it, workers read while it does.
class acl_list {
  public:
    /// Errors  ENOMEM: it needs more than its memory_mb, or than there is; EINVAL: a rule is wrong
    [[nodiscard]] static result<std::shared_ptr<acl_list>> compile(
        std::shared_ptr<const state::acl_list> says, rcu::defer_free defer_free);

    /// What came of changing one rule.
    enum class one_rule : uint8_t {
        changed,
        as_it_was,  ///< more differs, or there is no room for it
        broken,     ///< memory ended half-way: it is neither, and is to be compiled anew
    };
    /// Become what `to` says by adding, removing or replacing one rule, where that is all that
    /// differs. Ids of all other rules stay. May throw with nothing changed.
    [[nodiscard]] one_rule change_one_rule(const std::shared_ptr<const state::acl_list>& to);

    [[nodiscard]] const state::acl_list& says() const noexcept { return *says_; }
    /// The id of the rule at a place; behind the last one: the default's.
    [[nodiscard]] uint32_t id_at(size_t place) const noexcept {
        return place < ids_.size() ? ids_[place] : default_id;
    }
    /// Ids are below this as long as the list lives.
    [[nodiscard]] uint32_t id_limit() const noexcept {
        return static_cast<uint32_t>(priority_.size());
    }
    /// Of a rule that has been in it; the default's and those of rules that are gone, too.
    [[nodiscard]] state::acl_action action_of(uint32_t id) const noexcept { return actions_[id]; }
    [[nodiscard]] uint64_t bytes() const;  ///< of what workers read
    [[nodiscard]] std::string_view kernel() const noexcept { return v4_->kernel(); }

    // Workers.

    [[nodiscard]] const acl::classifier4& classifier(const acl::key4*) const noexcept {
        return *v4_;
    }
    [[nodiscard]] const acl::classifier6& classifier(const acl::key6*) const noexcept {
        return *v6_;
    }
    [[nodiscard]] uint32_t categories() const noexcept { return categories_; }
    [[nodiscard]] uint32_t default_hit() const noexcept { return default_hit_; }
    /// Whether the first rule stands above the second.
    [[nodiscard]] bool above(uint32_t hit, uint32_t other) const noexcept {
        return priority_[acl_id(hit)] > priority_[acl_id(other)];
    }

  private:
    static constexpr uint32_t default_id = 0;

    struct family {
        std::vector<acl::rule_id> v4, v6;  ///< lib/acl's ids, by ours; SIZE_MAX where it has none
    };
    acl_list() = default;
    template <class Classifier>
    result<void> build(std::unique_ptr<Classifier>& to, std::vector<acl::rule_id>& ids, bool v6,
                       uint64_t max_bytes, rcu::defer_free defer_free);
    [[nodiscard]] acl::rule rule_of(const state::acl_rule& r, uint32_t id) const;
    bool insert(const state::acl_rule& r, uint32_t id);
    bool take_out(uint32_t id);

    std::shared_ptr<const state::acl_list> says_;
    std::unique_ptr<acl::classifier4> v4_;
    std::unique_ptr<acl::classifier6> v6_;
    family known_as_;
    std::vector<uint32_t> ids_;               ///< by place
    std::vector<uint32_t> priority_;          ///< by id; 0 for the default, and where none has been
    std::vector<state::acl_action> actions_;  ///< by id
    uint32_t next_id_ = 1;
    uint32_t categories_ = 1;
    uint32_t default_hit_ = 0;
};

/// Packets that a rule decided on, or counted.
struct acl_counter {
    cost::counter packets, bytes;
};

/// A list at one interface, in one direction, and its counters: by worker, then by the rule's id.
struct bound_acl {
    std::shared_ptr<acl_list> list;
    std::vector<std::unique_ptr<acl_counter[]>> counters;
};

}  // namespace turnpike::datapath
