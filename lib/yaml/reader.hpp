// SPDX-License-Identifier: BSD-3-Clause
// A YAML node with its position in the file: typed reads return a value within bounds or fail with
// file:line, the mistake and the accepted values.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "yaml/node.hpp"

namespace turnpike::yaml {

/// Thrown by a reader; the function that reads a file converts it to a result.
struct complaint {
    error what;
};

/// Errors of one document that are collected at most; the next one ends the reading.
inline constexpr size_t max_complaints = 100;

/// "; did you mean 'mtu'?" if one of the words is a typing error away, otherwise empty.
[[nodiscard]] std::string suggestion(std::string_view wrong, std::span<const std::string_view> of);

class reader {
  public:
    /// in  must outlive every reader of it
    explicit reader(const document& in) noexcept : node_(in) {}
    explicit reader(const node& at) noexcept : node_(at) {}

    /// Run a part of the reading. Where the document collects errors, an error ends only this part.
    template <class Part>
    void attempt(const Part& part) const {
        std::vector<error>* const all = node_.complaints();
        if (all == nullptr) return part();
        try {
            part();
        } catch (const complaint& c) {
            if (all->size() == max_complaints) throw;
            all->push_back(c.what);
        }
    }
    /// Number of errors that the document collected.
    [[nodiscard]] size_t complaints() const noexcept {
        return node_.complaints() == nullptr ? 0 : node_.complaints()->size();
    }
    /// Report an error at this node: throws.
    [[noreturn]] void refuse(const std::string& text) const;
    /// Likewise, with the text's values.
    template <class First, class... Rest>
    [[noreturn]] void refuse(fmt::format_string<First, Rest...> text, First&& first,
                             Rest&&... rest) const {
        refuse(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...));
    }
    /// "file:line", for errors detected later.
    [[nodiscard]] std::string where() const;

    /// Its line in the file, from 1.
    [[nodiscard]] uint32_t line() const noexcept { return node_.line(); }

    /// No value, or null.
    [[nodiscard]] bool is_nothing() const noexcept { return node_.kind() == node_kind::nothing; }
    [[nodiscard]] bool is_map() const noexcept { return node_.kind() == node_kind::map; }
    [[nodiscard]] bool is_list() const noexcept { return node_.kind() == node_kind::list; }
    /// Number of elements of a list, or of keys of a map.
    [[nodiscard]] size_t size() const noexcept;
    /// Require a map without other keys than these.
    void expect_map(std::initializer_list<std::string_view> keys,
                    std::span<const std::string_view> and_those = {}) const;
    [[nodiscard]] bool has(std::string_view key) const noexcept {
        return node_.find(key).has_value();
    }
    /// The value of a required key.
    [[nodiscard]] reader at(std::string_view key) const;
    /// The elements of a list; `of_what` names them in the message ("a list of ports").
    [[nodiscard]] std::vector<reader> list(std::string_view of_what) const;

    [[nodiscard]] std::string text() const;
    /// Digits, or 10k, 1.5M, 2G.
    [[nodiscard]] uint64_t number(uint64_t least, uint64_t most) const;
    [[nodiscard]] bool truth() const;
    /// A name of an object: up to 32 letters, digits, '-', '_' and '.'.
    [[nodiscard]] std::string name() const;
    /// One of these words; returns its index.
    [[nodiscard]] size_t word(std::span<const std::string_view> words) const;
    [[nodiscard]] size_t word(std::initializer_list<std::string_view> words) const {
        return word(std::span(words.begin(), words.size()));
    }

    /// at(key).number(...) if the key exists, otherwise `otherwise`.
    template <class T>
    [[nodiscard]] T number_or(std::string_view key, T otherwise, uint64_t least,
                              uint64_t most) const {
        return has(key) ? static_cast<T>(at(key).number(least, most)) : otherwise;
    }

    /// The parser's result for this node's text, or an error at this node.
    template <class T>
    [[nodiscard]] T taken(result<T> parsed) const {
        if (!parsed) refuse(parsed.error().text);
        return std::move(*parsed);
    }
    void taken(const result<void>& checked) const {
        if (!checked) refuse(checked.error().text);
    }

  private:
    node node_;
};

}  // namespace turnpike::yaml
