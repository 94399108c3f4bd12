// SPDX-License-Identifier: BSD-3-Clause
// A key of an object of the configuration as one row: the reader, the writer, `set` and `unset`, turnpikectl's words, and
// the tables of doc/configuration.md use the rows of fields.hpp (doc/design/0027-fields.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "state/configuration.hpp"
#include "yaml/reader.hpp"

namespace turnpike::sources {

enum class value_form : uint8_t { number, truth, word, text, list };

/// The type of a value.
struct value_type {
    value_form form;
    uint64_t least = 0, most = 0;  ///< of a number; most: bytes of a text, elements of a list
    std::string_view unit{};       ///< of a number
    std::span<const std::string_view> words{};  ///< of a number: words in place of one
    std::string_view noun{};    ///< of a text, or of the elements of a list: "an lcore"
    std::string_view plural{};  ///< of the elements of a list: "lcores"
    uint64_t max_element = 0;   ///< of a list of numbers; 0: a list of texts
    bool or_one = false;        ///< a list of one element may be the element alone
    std::string_view kind{};    ///< turnpikectl's kind of value, for completion; empty: none
};

/// A text without a limit but that of YAML.
inline constexpr uint64_t any_length = UINT64_MAX;

constexpr value_type number_type(uint64_t least, uint64_t most, std::string_view unit = {}) {
    return {.form = value_form::number, .least = least, .most = most, .unit = unit};
}
/// A number, or one of these words.
constexpr value_type number_or_word(uint64_t least, uint64_t most,
                                    std::span<const std::string_view> words) {
    return {.form = value_form::number, .least = least, .most = most, .words = words};
}
constexpr value_type truth_type() { return {.form = value_form::truth}; }
constexpr value_type word_type(std::span<const std::string_view> words) {
    return {.form = value_form::word, .words = words};
}
constexpr value_type text_type(std::string_view noun, uint64_t max_bytes,
                               std::string_view kind = {}) {
    return {.form = value_form::text, .most = max_bytes, .noun = noun, .kind = kind};
}
/// max_elements  0: no limit
constexpr value_type list_type(std::string_view noun, std::string_view plural,
                               uint64_t max_elements, std::string_view kind = {}) {
    return {.form = value_form::list,
            .most = max_elements,
            .noun = noun,
            .plural = plural,
            .kind = kind};
}

/// max_elements  0: no limit
constexpr value_type number_list_type(std::string_view noun, std::string_view plural,
                                      uint64_t least, uint64_t max_element, uint64_t max_elements) {
    return {.form = value_form::list,
            .least = least,
            .most = max_elements,
            .noun = noun,
            .plural = plural,
            .max_element = max_element};
}

constexpr value_type one_or(value_type list) {
    list.or_one = true;
    return list;
}

/// The objects whose maps have a key, as a mask.
enum object_kind : uint16_t {
    of_port = 1,
    of_vlan = 2,
    of_bridge = 4,
    of_tunnel = 8,
    of_settings = 16,
    of_process = 32,  ///< settings of the process
    of_member = 64,
    of_mirror = 128,
    of_vrf = 256,
    of_neighbour = 512
};
inline constexpr unsigned of_routed = of_port | of_vlan | of_bridge;

/// The kind of an object with its own map.
template <class Object>
inline constexpr unsigned kind_of_map = of_settings;
template <>
inline constexpr unsigned kind_of_map<state::port> = of_port;
template <>
inline constexpr unsigned kind_of_map<state::bridge> = of_bridge;
template <>
inline constexpr unsigned kind_of_map<state::bridge_member> = of_member;
template <>
inline constexpr unsigned kind_of_map<state::tunnel> = of_tunnel;
template <>
inline constexpr unsigned kind_of_map<state::mirror> = of_mirror;
template <>
inline constexpr unsigned kind_of_map<state::vrf> = of_vrf;
template <>
inline constexpr unsigned kind_of_map<state::neighbour> = of_neighbour;

/// The effect of a change on a running turnpike.
enum class effect : uint8_t {
    live,
    reopens,  ///< closes and reopens the port
    restart,  ///< refused; needs a restart
};

/// The facts of a row.
struct field_facts {
    std::string_view key;  ///< "pcie.link": the key `link` of the map `pcie`
    value_type type;
    std::string_view meaning;  ///< a sentence without its end
    unsigned kinds = of_port;  ///< object_kind
    effect on_change = effect::live;
    bool required = false;
    bool compared = false;     ///< written with its default, too, where configurations are compared
    std::string_view shown{};  ///< its name in `show`; empty: the key with '_' for '.'
};

/// The facts that few rows have.
enum row_flag : uint8_t {
    is_required = 1,
    is_always_compared = 2,
    reopens_port = 4,
    needs_restart = 8,
};

/// A value as text that is valid in YAML and JSON; the elements of a list one by one.
struct written_value {
    std::vector<std::string> texts{};
    bool is_list = false;
    bool operator==(const written_value&) const = default;
    /// "1500", "[1, 2]"; without a value "null"
    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool exists() const noexcept { return is_list || !texts.empty(); }
};

/// How a field of an object is read, written and reset to its default. Errors of `read` are thrown as yaml::complaint;
/// a value that names an object is checked with the configuration.
template <class Object>
struct accessor {
    void (*read)(const yaml::reader&, const value_type&, const state::configuration&, Object&);
    written_value (*write)(const Object&, const value_type&);
    void (*reset)(Object&);
};

template <class Object>
struct field : field_facts {
    accessor<Object> at;

    /// flags  row_flag
    constexpr field(std::string_view name, const value_type& values, std::string_view says,
                    unsigned of, const accessor<Object>& access, unsigned flags = 0,
                    std::string_view name_in_show = {})
        : field_facts{name,
                      values,
                      says,
                      of,
                      (flags & reopens_port) != 0    ? effect::reopens
                      : (flags & needs_restart) != 0 ? effect::restart
                                                     : effect::live,
                      (flags & is_required) != 0,
                      (flags & is_always_compared) != 0,
                      name_in_show},
          at(access) {}
    /// A key of the objects with their own map.
    constexpr field(std::string_view name, const value_type& values, std::string_view says,
                    const accessor<Object>& access, unsigned flags = 0)
        : field(name, values, says, kind_of_map<Object>, access, flags) {}
};

// The text of a value.
written_value write_value(const std::string& text);
written_value write_value(const state::vlan_set& vlans);
written_value write_value(const state::pcie_profiles& profiles);
/// VLAN IDs on the wire and in the bridge: [{"wire": 110, "vlan": 10}]
written_value write_value(const std::map<uint16_t, uint16_t>& translations);
template <class Number>
requires std::is_integral_v<Number> written_value write_value(Number number) {
    return {{std::to_string(number)}};
}
/// An address, or another value with a text.
template <class Value>
requires requires(const Value& value) { value.text(); }
written_value write_value(const Value& value) { return write_value(value.text()); }
template <class Value>
written_value write_value(const std::optional<Value>& value) {
    return value ? write_value(*value) : written_value{};
}
template <class Value>
written_value write_value(const std::vector<Value>& values) {
    written_value out{.is_list = true};
    for (const Value& one : values) out.texts.push_back(write_value(one).text());
    return out;
}

std::string read_text(const yaml::reader& from, const value_type& type);

template <class Value>
inline constexpr bool is_number_v = std::is_integral_v<Value>;
template <class Number>
inline constexpr bool is_number_v<std::optional<Number>> = std::is_integral_v<Number>;

/// The default reader of a member, selected by the member's type.
template <class Value>
Value read_value(const yaml::reader& from, const value_type& type) {
    if constexpr (std::is_enum_v<Value>)
        return static_cast<Value>(from.word(type.words));
    else if constexpr (std::is_same_v<Value, bool>)
        return type.form == value_form::word ? from.word(type.words) == 1 : from.truth();
    else if constexpr (std::is_integral_v<Value>)
        return static_cast<Value>(from.number(type.least, type.most));
    else if constexpr (is_number_v<Value>)
        return static_cast<typename Value::value_type>(from.number(type.least, type.most));
    else
        return read_text(from, type);
}

/// A member, or with several pointers a member of a member.
template <auto First, auto... Rest>
struct member {
    template <class Object, class Value>
    static Object object_of(Value Object::*);
    using object = decltype(object_of(First));

    template <class Object>
    static auto& in(Object& of) {
        return ((of.*First).*....*Rest);
    }
    using value = std::remove_cvref_t<decltype(in(std::declval<object&>()))>;

    static written_value write(const object& of, const value_type& type) {
        if constexpr (std::is_enum_v<value> || std::is_same_v<value, bool>) {
            const auto index = static_cast<size_t>(in(of));
            if (type.form == value_form::word) return {{std::string(type.words[index])}};
            return {{index != 0 ? "true" : "false"}};
        } else {
            return write_value(in(of));
        }
    }
    static void reset(object& of) {
        object usual{};
        in(of) = std::move(in(usual));
    }
};
/// Read  the reader of the member's value; arguments: the value and, as far as needed, its type or the configuration
template <class Member, auto Read = read_value<typename Member::value>>
constexpr accessor<typename Member::object> access() {
    using state::configuration, yaml::reader;
    constexpr auto read = [](const reader& from, [[maybe_unused]] const value_type& type,
                             [[maybe_unused]] const configuration& in,
                             typename Member::object& into) {
        if constexpr (std::is_invocable_v<decltype(Read), const reader&, const value_type&>)
            Member::in(into) = Read(from, type);
        else if constexpr (std::is_invocable_v<decltype(Read), const reader&, const configuration&>)
            Member::in(into) = Read(from, in);
        else
            Member::in(into) = Read(from);
    };
    return {read, Member::write, Member::reset};
}
/// Likewise with the default reader.
template <auto... Path>
constexpr auto access() {
    return access<member<Path...>>();
}

// Tables.

/// The key's value in an object's map, if it is there.
[[nodiscard]] std::optional<yaml::reader> find_field(const yaml::reader& object,
                                                     std::string_view key);

/// "pcie" of "pcie.link", "mtu" of "mtu".
[[nodiscard]] std::string_view top_key(std::string_view key) noexcept;

/// The keys of an object's map, and the keys of the maps in it: collected from one or more tables.
class key_list {
  public:
    template <class Object>
    key_list& add(std::span<const field<Object>> table, unsigned kinds) {
        for (const field<Object>& f : table)
            if ((f.kinds & kinds) != 0) add(f.key);
        return *this;
    }
    /// A key that no table has.
    key_list& add(std::string_view key);
    /// Refuses keys that are in no table and not among `besides`.
    void expect(const yaml::reader& object, std::initializer_list<std::string_view> besides) const {
        expect(object, std::span(besides.begin(), besides.size()));
    }
    void expect(const yaml::reader& object, std::span<const std::string_view> besides) const;
    /// Likewise, in the maps of an object only.
    void expect_maps(const yaml::reader& object) const;

  private:
    struct inner_map {
        std::string_view key;
        std::vector<std::string_view> keys;
    };

    std::vector<std::string_view> keys_{};
    std::vector<inner_map> maps_{};
};

/// Reads the fields that the map has; other fields of the object stay. Requires key_list::expect().
template <class Object>
void read_fields(const yaml::reader& from, std::span<const field<Object>> table, unsigned kinds,
                 const state::configuration& in, Object& into) {
    for (const field<Object>& f : table)
        if ((f.kinds & kinds) != 0)
            if (const auto value = find_field(from, f.key))
                from.attempt([&] { f.at.read(*value, f.type, in, into); });
}

/// Refuses a map without the required keys.
template <class Object>
void require_fields(const yaml::reader& from, std::span<const field<Object>> table) {
    for (const field<Object>& f : table)
        if (f.required) from.attempt([&] { (void)from.at(f.key); });
}

/// The value of a key, or the map if the key is not there: the place of an error that concerns several keys.
[[nodiscard]] inline yaml::reader place_of(const yaml::reader& from, std::string_view key) {
    return from.has(key) ? from.at(key) : from;
}

/// Appends fields as lines of YAML: a map of few fields on one line, others on a line each.
/// open_map  the last map, which is written also without fields, for the caller to go on
void add_yaml(std::string& to, std::string_view indent,
              std::span<const std::pair<std::string_view, written_value>> fields,
              std::string_view open_map = {});

/// The fields of an object that are written: all with another value than the default and all required ones, or also the
/// fields with is_always_compared.
enum class written_fields : uint8_t { set, compared };

/// Writes the fields of an object.
template <class Object>
void write_fields(std::string& to, std::string_view indent, std::span<const field<Object>> table,
                  unsigned kinds, const Object& of, written_fields which = written_fields::set,
                  std::string_view open_map = {}) {
    Object usual = of;  // with the defaults, which may depend on required fields
    for (const field<Object>& f : table)
        if ((f.kinds & kinds) != 0 && !f.required) f.at.reset(usual);
    std::vector<std::pair<std::string_view, written_value>> fields;
    for (const field<Object>& f : table) {
        if ((f.kinds & kinds) == 0) continue;
        if (written_value value = f.at.write(of, f.type);
            value.exists() && (f.required || (f.compared && which == written_fields::compared) ||
                               value != f.at.write(usual, f.type)))
            fields.emplace_back(f.key, std::move(value));
    }
    add_yaml(to, indent, fields, open_map);
}

/// Appends a member of a JSON object, for `show`; null: a text or a number without a value.
void add_json(std::string& to, const field_facts& f, written_value value);

/// The fields of an object as a JSON object.
template <class Object>
std::string json_of(std::span<const field<Object>> table, unsigned kinds, const Object& of) {
    std::string out;
    for (const field<Object>& f : table)
        if ((f.kinds & kinds) != 0) add_json(out, f, f.at.write(of, f.type));
    return '{' + out + '}';
}

/// Appends the keys of a table, with dots.
template <class Object>
void add_keys(std::vector<std::string_view>& to, std::span<const field<Object>> table,
              unsigned kinds) {
    for (const field<Object>& f : table)
        if ((f.kinds & kinds) != 0) to.push_back(f.key);
}

/// The row of a key; null: none.
template <class Object>
const field<Object>* find_row(std::span<const field<Object>> table, unsigned kinds,
                              std::string_view key) {
    for (const field<Object>& f : table)
        if ((f.kinds & kinds) != 0 && f.key == key) return &f;
    return nullptr;
}

}  // namespace turnpike::sources
