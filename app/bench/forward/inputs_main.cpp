// SPDX-License-Identifier: BSD-3-Clause
// The C++ part of turnpike-bench-forward: writes the files of inputs.hpp to a folder, and describes
// the machine.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

#include "../harness.hpp"
#include "acl/rule_file.hpp"
#include "inputs.hpp"

namespace turnpike::bench {
namespace {

struct wishes {
    std::string folder, table, rules;
    std::vector<std::string> make, frame{"64"};
    int frames = 131'072;
};

/// Number of frames of that size; half for IMIX (353 bytes), 23 MB per port.
size_t frames_of(const wishes& w, const std::string& frame) {
    return static_cast<size_t>(w.frames) / (frame == "imix" ? 2 : 1);
}

bool wanted(const wishes& w, const std::string& name) {
    return std::find(w.make.begin(), w.make.end(), name) != w.make.end();
}

void make_table(harness& h, const wishes& w, int family) {
    const std::string name = fmt::format("full{}", family);
    const routes all = w.table.empty() ? generate_routes(family, family == 4 ? 900'000 : 160'000)
                                       : read_routes(w.table, family);
    routes table = forwardable(all, family);
    if (table.empty())
        throw std::runtime_error(fmt::format("{}: has no IPv{} routes", w.table, family));
    assign_next_hops(table, 2);
    write_table(table, family, w.folder + "/" + name);
    for (const auto& frame : w.frame)
        for (const char* kind : {"uniform", "zipf"})
            write_table_traffic(table, family, kind, frames_of(w, frame),
                                fmt::format("{}/{}-{}", w.folder, name, kind), frame == "imix");
    h.summary()[name] = table.size();
}

/// The whole file for the larger set, a thousand equally spaced rules for the smaller.
rule_set read_set(const std::string& file, bool small) {
    const auto read = acl::read_rules(file);
    if (!read) throw std::runtime_error(read.error().message());
    if (read->kind != acl::family::ipv4) throw std::runtime_error(file + ": needs IPv4 rules");
    rule_set set{file, acl::family::ipv4, {}};
    const size_t step = small ? std::max<size_t>(1, read->rules.size() / 1000) : 1;
    for (size_t i = 0; i < read->rules.size(); i += step) set.rules.push_back(read->rules[i]);
    return set;
}

rule_set generated_set(bool small) {
    for (rule_set& set : generate_sets())
        if (set.name == (small ? "acl_1k" : "acl_10k")) return std::move(set);
    throw std::runtime_error("the generator has no access lists");
}

void make_rules(harness& h, const wishes& w, bool small) {
    const std::string name = small ? "acl1k" : "acl10k";
    const rule_set set = w.rules.empty() ? generated_set(small) : read_set(w.rules, small);
    write_rules(set.rules, w.folder + "/" + name);
    for (const auto& frame : w.frame)
        write_rule_traffic(set, frames_of(w, frame), w.folder + "/" + name, frame == "imix");
    h.summary()[name] = set.rules.size();
}

int run(int argc, char** argv) {
    harness h("forward", "inputs of turnpike-bench-forward");
    wishes w;
    h.add_option("--into", w.folder, "output folder");
    h.add_option("--make", w.make, "inputs to create",
                 {"small4", "small6", "mixed", "stranger", "stick", "full4", "full6", "acl1k",
                  "acl10k", "vxlan"});
    h.add_option("--frame", w.frame, "frame sizes of the captures", {"64", "imix"});
    h.add_option("--frames", w.frames,
                 "64-byte frames per capture of a table or list; half as many for IMIX");
    h.add_option("--table", w.table, "a full table, one prefix per line");
    h.add_option("--rules", w.rules, "ClassBench rules");
    if (const auto code = h.start(argc, argv, 64)) return *code;
    for (const int family : {4, 6}) {
        const std::string name = fmt::format("small{}", family);
        if (wanted(w, name) || wanted(w, "mixed") || wanted(w, "stranger"))
            write_table(small_table(family), family, w.folder + "/" + name);
        if (wanted(w, fmt::format("full{}", family))) make_table(h, w, family);
    }
    for (const auto& frame : w.frame) {
        const bool imix = frame == "imix";
        if (wanted(w, "small6")) write_small_traffic(families::ipv6, w.folder + "/small6", imix);
        if (wanted(w, "vxlan")) write_tunnel_traffic(w.folder + "/vxlan", imix);
        if (wanted(w, "mixed"))
            write_small_traffic(families::both_in_turn, w.folder + "/mixed", imix);
        if (wanted(w, "stranger"))
            write_small_traffic(families::one_ipv6_in_32, w.folder + "/stranger", imix);
        if (wanted(w, "stick")) write_stick_traffic(w.folder + "/stick", imix);
    }
    for (const bool small : {true, false})
        if (wanted(w, small ? "acl1k" : "acl10k")) make_rules(h, w, small);
    return h.finish();
}

}  // namespace
}  // namespace turnpike::bench

int main(int argc, char** argv) {
    return turnpike::bench::guarded("turnpike-bench-forward", turnpike::bench::run, argc, argv);
}
