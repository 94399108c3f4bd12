// SPDX-License-Identifier: BSD-3-Clause
// The harness's command line, in a separate file: sources that include CLI11 are compiled without
// optimization.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness.hpp"

namespace turnpike::bench {

harness::harness(std::string name, std::string what)
    : name_(std::move(name)),
      app_(std::make_unique<CLI::App>(std::move(what))),
      cells_(std::make_unique<nlohmann::json>(nlohmann::json::array())),
      summary_(std::make_unique<nlohmann::json>(nlohmann::json::object())) {
    app_->name("turnpike-bench-" + name_);
    app_->footer("Usage: turnpike-bench-" + name_ + " [EAL options --] [options]");
    app_->add_flag("--json", json_, "print one JSON object (turnpike.bench/1) on standard output");
    app_->add_flag("--quick", quick_, "the same cells with fewer repetitions");
}

harness::~harness() = default;

void harness::add_option(const std::string& name, std::string& into, const std::string& help) {
    app_->add_option(name, into, help);
}

void harness::add_option(const std::string& name, int& into, const std::string& help) {
    app_->add_option(name, into, help);
}

void harness::add_option(const std::string& name, std::vector<std::string>& into,
                         const std::string& help, const std::vector<std::string>& one_of) {
    CLI::Option* option = app_->add_option(name, into, help);
    if (!one_of.empty()) option->check(CLI::IsMember(one_of));
}

void harness::add_flag(const std::string& name, bool& into, const std::string& help) {
    app_->add_flag(name, into, help);
}

std::optional<int> harness::parse(std::vector<std::string> all) {
    try {
        std::reverse(all.begin(), all.end());  // CLI11 consumes arguments from the back
        app_->parse(all);
    } catch (const CLI::ParseError& e) {
        return app_->exit(e) == 0 ? 0 : 2;
    }
    return std::nullopt;
}

}  // namespace turnpike::bench
