// SPDX-License-Identifier: BSD-3-Clause
// A YAML document as a tree: 16 bytes per node, in one array in document order, and the
// concatenated texts of all scalars.
//
//   {a: 1, b: [x, y]}      nodes  map+6  a  1  b  list+2  x  y      texts  "a1bxy"
//
// A value follows its key, and each list or map has the number of nodes in it, so that a reader can
// skip it. The only links point to parents; only error messages follow them.
// Threads any, while no thread changes the document
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace turnpike::yaml {

/// nothing: no value, or one of ~, null, Null, NULL without quotes.
enum class node_kind : uint8_t { nothing, scalar, list, map };

struct tree_entry {
    uint32_t line : 30;  ///< from 1
    node_kind kind : 2;
    uint32_t parent;  ///< index of the parent; the first node's is itself
    uint32_t begin;   ///< scalar: offset of its text
    uint32_t size;    ///< scalar: bytes; list and map: number of nodes below, at all depths
};
static_assert(sizeof(tree_entry) == 16);

/// The result of yaml_file.hpp's parser. Keys are scalars or nothing, and unique within a map.
struct document {
    std::string name;  ///< its name in messages
    std::string top;   ///< name of its first node in messages; empty: none
    std::vector<tree_entry> entries{};
    std::string texts{};
    std::vector<error>* complaints =
        nullptr;  ///< collects errors (reader::attempt()); null: the first one ends the reading
};

/// A reference to a node; the document must outlive it.
class node {
  public:
    class range;

    /// The first node of a document.
    explicit node(const document& in) noexcept : in_(&in) {}
    node(const document& in, uint32_t at) noexcept : in_(&in), at_(at) {}

    [[nodiscard]] node_kind kind() const noexcept { return entry().kind; }
    /// A scalar's text; "~" for nothing; empty for lists and maps.
    [[nodiscard]] std::string_view text() const noexcept;
    [[nodiscard]] uint32_t line() const noexcept { return entry().line; }
    [[nodiscard]] const std::string& file() const noexcept { return in_->name; }
    [[nodiscard]] std::vector<error>* complaints() const noexcept { return in_->complaints; }
    /// A list's elements, a map's keys; empty for others.
    [[nodiscard]] range children() const noexcept;
    /// The value of a key.
    [[nodiscard]] node value() const noexcept { return {*in_, at_ + 1}; }
    /// The value for a map's key; nullopt for other nodes.
    [[nodiscard]] std::optional<node> find(std::string_view key) const noexcept;
    /// "ports[1].mtu"; `top` for the first node. Not for keys.
    [[nodiscard]] std::string path() const;

  private:
    [[nodiscard]] const tree_entry& entry() const noexcept { return in_->entries[at_]; }
    /// Index after this node and everything in it.
    [[nodiscard]] uint32_t end() const noexcept {
        return at_ + 1 + (kind() >= node_kind::list ? entry().size : 0);
    }

    const document* in_;
    uint32_t at_ = 0;
};

class node::range {
  public:
    class iterator {
      public:
        iterator(const document& in, uint32_t at, bool keys) noexcept
            : in_(&in), at_(at), keys_(keys) {}
        node operator*() const noexcept { return {*in_, at_}; }
        iterator& operator++() noexcept {
            at_ = node(*in_, at_).end();
            if (keys_) at_ = node(*in_, at_).end();
            return *this;
        }
        bool operator==(const iterator& other) const noexcept { return at_ == other.at_; }

      private:
        const document* in_;
        uint32_t at_;
        bool keys_;
    };

    range(iterator begin, iterator end) noexcept : begin_(begin), end_(end) {}
    [[nodiscard]] iterator begin() const noexcept { return begin_; }
    [[nodiscard]] iterator end() const noexcept { return end_; }

  private:
    iterator begin_, end_;
};

inline node::range node::children() const noexcept {
    const bool keys = kind() == node_kind::map;
    return {{*in_, at_ + 1, keys}, {*in_, end(), keys}};
}

}  // namespace turnpike::yaml
