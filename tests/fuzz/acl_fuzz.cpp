// SPDX-License-Identifier: BSD-3-Clause
// First byte even: the rest is a rule file; a file that parses is built and explained. Odd:
// sequences of add and remove, 12 bytes an operation, and keys of the rules against a linear scan.
#include <cstdlib>

#include "acl/rule_file.hpp"
#include "unit/acl/oracle.hpp"

namespace {

using namespace turnpike::acl;
using namespace turnpike::acl::test;

void require(bool holds) {
    if (!holds) std::abort();
}

template <class Key>
void ask(const classifier<Key>& table, const std::map<rule_id, rule>& rules, rules_maker& make) {
    for (const auto& [id, r] : rules) {
        const Key key = make.key_of<Key>(r);
        const Key* at[] = {&key};
        uint32_t result;
        table.classify(at, {&result, 1});
        require(right(rules, key, 0, result));
    }
}

template <class Key>
void build(const std::vector<rule>& list) {
    auto table = *classifier<Key>::create({.kernel = "scalar"});
    require(bool(table->build(list)));
    std::map<rule_id, rule> rules;
    for (rule_id id = 0; id < list.size(); ++id) rules[id] = list[id];
    rules_maker make(1);
    ask(*table, rules, make);
}

void rule_text(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto file = parse_rules(text, "f");
    if (!file) return require(file.error().object.rfind("f:", 0) == 0);
    require(file->rules.size() == file->lines.size());
    file->kind == family::ipv4 ? build<key4>(file->rules) : build<key6>(file->rules);
}

void operations(const uint8_t* data, size_t size) {
    auto table = *classifier4::create({.kernel = "scalar"});
    std::map<rule_id, rule> rules;
    rules_maker make(2);
    for (; size >= 12; data += 12, size -= 12) {
        if (data[0] % 3 == 0 && !rules.empty()) {
            const auto it = std::next(rules.begin(), data[1] % static_cast<long>(rules.size()));
            require(bool(table->remove(it->first)));
            rules.erase(it);
        } else {
            rule r;
            r.source = prefix({data + 1, 4}, data[5] % 33);
            r.destination = prefix({data + 2, 4}, data[6] % 33);
            const uint16_t port = data[7], more = data[8];
            if (data[9] % 2 != 0) r.destination_port = {port, static_cast<uint16_t>(port + more)};
            if (data[9] % 4 > 1) r.source_port = {1024, 65535};
            if (data[9] % 8 > 3) r.vlan = {port, 0x0fff};
            r.priority = 1u + data[10] % 16;
            r.user_data = 1u + data[11];
            const auto id = table->add(r);
            require(bool(id) && !rules.contains(*id));
            rules[*id] = r;
        }
        if (size < 24 || data[0] % 8 == 7) ask(*table, rules, make);
    }
    require(table->size() == rules.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    data[0] % 2 == 0 ? rule_text(data + 1, size - 1) : operations(data + 1, size - 1);
    return 0;
}
