// SPDX-License-Identifier: BSD-3-Clause
#include "lib/eal_environment.hpp"

#include <rte_eal.h>

#include "lib/any_cpu.hpp"

namespace turnpike::test {

void eal_environment::SetUp() {
    words_ = {"test", "--no-huge", "--no-shconf", "--no-pci",     "--no-telemetry",
              "-m",   "256",       any_cpu(),     "--log-level=4"};
    std::vector<char*> argv;
    for (std::string& word : words_) argv.push_back(word.data());
    ASSERT_GE(rte_eal_init(static_cast<int>(argv.size()), argv.data()), 0) << "EAL does not start";
}

void eal_environment::TearDown() { rte_eal_cleanup(); }

}  // namespace turnpike::test
