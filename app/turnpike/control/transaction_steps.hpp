// SPDX-License-Identifier: BSD-3-Clause
// A transaction of the controller: doc/design/0009-change-sets.md.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "control/controller.hpp"
#include "control/transaction.hpp"

namespace turnpike::control {

/// A transaction in progress. Uncommitted parts are rolled back in reverse order.
/// Threads  control, and management during a loan
struct controller::transaction_steps {
    explicit transaction_steps(std::shared_ptr<const state::configuration> of)
        : operators(std::move(of)) {}
    transaction_steps(const transaction_steps&) = delete;
    transaction_steps& operator=(const transaction_steps&) = delete;
    ~transaction_steps() { undo_from(0); }

    void undo_from(size_t owner) noexcept {
        while (ready.size() > owner) ready.pop_back();
    }

    std::shared_ptr<const state::configuration> operators;  ///< without learned addresses
    std::shared_ptr<const state::configuration> config{};   ///< with them
    std::unique_ptr<state::followed> learned{};
    state::changes what{};
    bool nothing = false;  ///< to be done
    std::vector<pcie::nic_profile> profiles{};
    acls::lists compiled{};  ///< before the loan
    std::optional<transaction> c{};
    std::unique_ptr<datapath::snapshot>
        before_exchange{};  ///< the snapshot that the owners prepared with
    std::vector<std::unique_ptr<prepared_change>> ready{};
};

}  // namespace turnpike::control
