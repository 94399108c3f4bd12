// SPDX-License-Identifier: BSD-3-Clause
#include "pmu/perf_source.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "base/owned_fd.hpp"

namespace turnpike::pmu {
namespace {

class perf_group : public counter_group {
  public:
    explicit perf_group(std::vector<owned_fd> events) : events_(std::move(events)) {}

    [[nodiscard]] result<void> read(std::span<reading> out) override {
        // PERF_FORMAT_GROUP with both times: {events, enabled, running, value...}
        std::vector<uint64_t> words(3 + events_.size());
        const size_t bytes = words.size() * sizeof(uint64_t);
        const ssize_t n = ::read(events_[0].get(), words.data(), bytes);
        if (n != static_cast<ssize_t>(bytes) || words[0] != events_.size())
            return fail(n < 0 ? errno : EIO, "", "cannot read the counters");
        for (size_t i = 0; i < out.size(); ++i)
            out[i] = {.value = words[3 + i], .enabled_ns = words[1], .running_ns = words[2]};
        return {};
    }
    [[nodiscard]] result<user_counter> readable(size_t event) const override {
        return user_counter::map(events_[event].get());
    }

  private:
    std::vector<owned_fd> events_;  // the first one is the group leader
};

int paranoia(const std::filesystem::path& proc) {
    int level = 2;
    std::ifstream(proc / "sys/kernel/perf_event_paranoid") >> level;
    return level;
}

}  // namespace

error perf_source::explain(int code, const device& of, std::string_view event) const {
    const std::string object = fmt::format("{}/{}", of.name, event);
    switch (code) {
        case EACCES:
        case EPERM:
            return {code, object,
                    fmt::format("not permitted: run as root or with CAP_PERFMON, or set "
                                "kernel.perf_event_paranoid, now {}, to 0",
                                paranoia(proc_))};
        case ENOENT:
        case ENODEV:
        case EOPNOTSUPP:
            return {code, object, "this CPU (or virtual machine) does not support the event"};
        case EINVAL:
            return {
                code, object,
                "the kernel refuses the event or its group (perf_event_open: invalid argument)"};
        case EMFILE:
        case ENFILE:
            return {code, object, "too many files are open; raise the limit (ulimit -n)"};
        case EBUSY:
            return {code, object, "another program uses the counter exclusively"};
        default:
            return {code, object, "cannot be counted"};
    }
}

result<std::unique_ptr<counter_group>> perf_source::open(const device& of,
                                                         std::span<const coded_event> events,
                                                         target whose) {
    std::vector<owned_fd> opened;
    for (const coded_event& e : events) {
        perf_event_attr attributes{};
        attributes.size = sizeof attributes;
        attributes.type = of.type;
        attributes.config = e.code.words[0];
        attributes.config1 = e.code.words[1];
        attributes.config2 = e.code.words[2];
        attributes.read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        const long fd = syscall(SYS_perf_event_open, &attributes, whose.thread, whose.cpu,
                                opened.empty() ? -1 : opened[0].get(), PERF_FLAG_FD_CLOEXEC);
        if (fd < 0) return tl::unexpected<error>(explain(errno, of, e.name));
        opened.emplace_back(static_cast<int>(fd));
    }
    return std::make_unique<perf_group>(std::move(opened));
}

}  // namespace turnpike::pmu
