// SPDX-License-Identifier: BSD-3-Clause
// The oracle: a plain binary trie, one node a bit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "fib/rib.hpp"

namespace turnpike::fib::test {

class oracle {
  public:
    explicit oracle(uint64_t default_next_hop = 0) : default_(default_next_hop) {}

    void add(const address& a, unsigned length, uint64_t next_hop) {
        node* n = &root_;
        for (unsigned i = 0; i < length; ++i) {
            auto& child = n->child[a.bits(i, 1)];
            if (child == nullptr) child = std::make_unique<node>();
            n = child.get();
        }
        n->next_hop = next_hop;
    }
    void remove(const address& a, unsigned length) {
        node* n = &root_;
        for (unsigned i = 0; i < length && n != nullptr; ++i) n = n->child[a.bits(i, 1)].get();
        if (n != nullptr) n->next_hop.reset();
    }
    uint64_t lookup(const address& a) const {
        uint64_t best = default_;
        const node* n = &root_;
        for (unsigned i = 0; n != nullptr; ++i) {
            if (n->next_hop) best = *n->next_hop;
            if (i == 128) break;
            n = n->child[a.bits(i, 1)].get();
        }
        return best;
    }

  private:
    struct node {
        std::optional<uint64_t> next_hop;
        std::unique_ptr<node> child[2];
    };
    node root_;
    uint64_t default_;
};

}  // namespace turnpike::fib::test
