// SPDX-License-Identifier: BSD-3-Clause
// Forwards between ports as dpdk-testpmd's io mode: a received burst is sent at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace turnpike::bench {

struct io_settings {
    std::vector<std::string>
        devices{};              ///< "net_simnic0,wire=gen"; created and removed with the loop
    uint32_t frame_bytes = 64;  ///< FCS included
    uint32_t seeds = 0;         ///< frames sent before the loop, for devices that loop them back
};

/// Result of one run.
struct io_run {
    uint64_t packets = 0;  ///< received and sent
    uint64_t cycles = 0;   ///< TSC, all of it
    uint64_t engine_cycles =
        0;  ///< part of them: the device's own work (net_simnic, engine=inline)

    [[nodiscard]] double host_cycles_per_packet() const noexcept {
        return static_cast<double>(cycles - engine_cycles) / static_cast<double>(packets);
    }
    [[nodiscard]] double engine_cycles_per_packet() const noexcept {
        return static_cast<double>(engine_cycles) / static_cast<double>(packets);
    }
};

/// Threads  one.
class io_loop {
  public:
    static constexpr uint16_t burst = 32;

    /// Errors  EAL's or ethdev's, with the device's name
    [[nodiscard]] static result<std::unique_ptr<io_loop>> open(const io_settings& s);
    io_loop(const io_loop&) = delete;
    io_loop& operator=(const io_loop&) = delete;
    ~io_loop();

    /// Forward at least `packets`. Returns fewer if no more arrive.
    io_run forward(uint64_t packets);
    /// Only receive, for this long. (engine_cycles excludes a device on its own thread.)
    io_run receive(double seconds);
    /// ethdev's name for the receive function of the first port: "avx2".
    [[nodiscard]] std::string burst_mode() const;
    /// An extended statistic, summed over the ports that have it.
    [[nodiscard]] uint64_t xstat(const char* name) const;

  private:
    io_loop() = default;
    result<void> set_up(const io_settings& s);
    result<void> start_port(uint16_t port, const std::string& name);
    result<void> wait_for_links();
    result<void> sow(const io_settings& s);
    [[nodiscard]] uint64_t engine_cycles() const { return xstat("engine_cycles"); }

    std::vector<std::string> names_{};
    std::vector<uint16_t> ports_{};
    rte_mempool* pool_ = nullptr;
};

}  // namespace turnpike::bench
