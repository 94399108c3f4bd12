// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/shared_source.hpp"

#include <iterator>
#include <utility>

namespace turnpike::pmu {
namespace {

class shared_group : public counter_group {
  public:
    explicit shared_group(std::shared_ptr<counter_group> of) noexcept : of_(std::move(of)) {}
    [[nodiscard]] result<void> read(std::span<reading> out) override { return of_->read(out); }
    [[nodiscard]] result<user_counter> readable(size_t i) const override {
        return of_->readable(i);
    }

  private:
    std::shared_ptr<counter_group> of_;
};

}  // namespace

result<std::unique_ptr<counter_group>> shared_source::open(const device& of,
                                                           std::span<const coded_event> events,
                                                           target whose) {
    std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
    key k{.type = of.type, .cpu = whose.cpu, .thread = whose.thread};
    for (const coded_event& e : events)
        k.words.insert(k.words.end(), std::begin(e.code.words), std::end(e.code.words));
    std::weak_ptr<counter_group>& there = open_[k];
    std::shared_ptr<counter_group> group = there.lock();
    if (group == nullptr) {
        auto opened = from_->open(of, events, whose);
        if (!opened) return tl::unexpected<error>(opened.error());
        there = group = std::move(*opened);
    }
    return std::make_unique<shared_group>(std::move(group));
}

}  // namespace turnpike::pmu
