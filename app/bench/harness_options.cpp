// SPDX-License-Identifier: BSD-3-Clause
// The harness's command line, in a separate file: sources that include CLI11 are compiled without
// optimization.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/parse.hpp"
#include "harness.hpp"

namespace turnpike::bench {
namespace {

constexpr int max_seed = 2'147'483'647;

}  // namespace

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

void harness::add_fresh(fresh_options& into) {
    fresh_ = &into;
    CLI::Option* const fresh =
        app_->add_option("--fresh", into.sets,
                         "measure that many newly generated sets (50) instead of the usual ones")
            ->expected(0, 1)
            ->default_str("50")
            ->check(CLI::Range(1, 1'000'000));
    app_->add_option("--seed", into.seed, "generate the sets of that seed again")
        ->needs(fresh)
        ->check(CLI::Range(1, max_seed));
}

std::optional<int> harness::parse(std::vector<std::string> all) {
    try {
        parse_words(*app_, std::move(all));
        if (fresh_ != nullptr && fresh_->sets > 0 && fresh_->seed == 0)
            fresh_->seed = static_cast<int>(1 + std::random_device()() % max_seed);
    } catch (const CLI::ParseError& e) {
        return exit_code_of(*app_, e);
    }
    return std::nullopt;
}

}  // namespace turnpike::bench
