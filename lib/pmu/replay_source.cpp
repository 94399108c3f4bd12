// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/replay_source.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "pmu/perf_source.hpp"
#include "yaml/reader.hpp"
#include "yaml/yaml_file.hpp"

namespace turnpike::pmu {
namespace {

using yaml::node;
using yaml::reader;

constexpr uint64_t max_count = uint64_t{1} << 62;

class replay_group : public counter_group {
  public:
    replay_group(std::vector<uint64_t> counts, uint64_t enabled_ns, unsigned share)
        : counts_(std::move(counts)), enabled_ns_(enabled_ns), share_(share) {}

    [[nodiscard]] result<void> read(std::span<reading> out) override {
        for (size_t i = 0; i < out.size(); ++i)
            out[i] = {.value = begun_ ? counts_[i] : 0,
                      .enabled_ns = begun_ ? enabled_ns_ : 0,
                      .running_ns = begun_ ? enabled_ns_ / 100 * share_ : 0};
        begun_ = true;
        return {};
    }

  private:
    std::vector<uint64_t> counts_;
    uint64_t enabled_ns_;
    unsigned share_;
    bool begun_ = false;
};

/// Visit keys and values of an optional map.
template <class Handle>
void each(const yaml::document& in, std::string_view key, const Handle& handle) {
    const auto map = node(in).find(key);
    if (!map || map->kind() == yaml::node_kind::nothing) return;
    if (map->kind() != yaml::node_kind::map) reader(*map).refuse("should be a map");
    for (const node name : map->children()) handle(reader(name).text(), name.value());
}

}  // namespace

result<replay_source> replay_source::parse(std::string_view yaml, const std::string& origin) {
    const auto document = yaml::parse_yaml(yaml, origin, "the recording");
    if (!document) return tl::unexpected<error>(document.error());
    replay_source made;
    try {
        const reader top(*document);
        top.expect_map({"seconds", "counters", "shares", "refused"});
        made.seconds_ = top.number_or("seconds", 1.0, 1, 86400);
        each(*document, "counters", [&](const std::string& pmu, const node& events) {
            if (events.kind() != yaml::node_kind::map) reader(events).refuse("should be a map");
            for (const node name : events.children())
                made.counters_[pmu][reader(name).text()] =
                    reader(name.value()).number(0, max_count);
        });
        each(*document, "shares", [&](const std::string& pmu, const node& share) {
            made.shares_[pmu] = static_cast<unsigned>(reader(share).number(0, 100));
        });
        each(*document, "refused", [&](const std::string& pmu, const node& code) {
            made.refused_[pmu] = static_cast<int>(reader(code).number(1, 4095));
        });
    } catch (yaml::complaint& wrong) {
        return tl::unexpected<error>(std::move(wrong.what));
    }
    return made;
}

result<replay_source> replay_source::load(const std::filesystem::path& file) {
    const auto text = yaml::read_file(file);
    if (!text) return tl::unexpected<error>(text.error());
    return parse(*text, file.string());
}

result<std::unique_ptr<counter_group>> replay_source::open(const device& of,
                                                           std::span<const coded_event> events,
                                                           target) {
    const perf_source kernel;
    if (const auto code = refused_.find(of.name); code != refused_.end())
        return tl::unexpected<error>(kernel.explain(code->second, of, events[0].name));
    const auto pmu = counters_.find(of.name);
    std::vector<uint64_t> counts;
    for (const coded_event& e : events) {
        const bool known = pmu != counters_.end() && pmu->second.contains(std::string(e.name));
        if (!known) return tl::unexpected<error>(kernel.explain(ENOENT, of, e.name));
        counts.push_back(pmu->second.at(std::string(e.name)));
    }
    const auto share = shares_.find(of.name);
    return std::make_unique<replay_group>(std::move(counts), static_cast<uint64_t>(seconds_ * 1e9),
                                          share == shares_.end() ? 100 : share->second);
}

}  // namespace turnpike::pmu
