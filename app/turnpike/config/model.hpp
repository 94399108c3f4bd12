// SPDX-License-Identifier: BSD-3-Clause
// What the operator wants: the YAML file as plain data, validated whole before anything starts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace turnpike::config {

struct eal {
    std::vector<std::string> args{};  ///< as on a command line
    bool hugepages_optional = false;  ///< go on without hugepages where they are missing
};

struct mempool {
    uint32_t buffers = 16384;     ///< mbufs
    uint32_t buffer_size = 2176;  ///< bytes of an mbuf's data buffer, headroom (128) included
};

struct tx {
    uint32_t drain_us = 50;  ///< a packet waits at most this long for others to be sent with it
};

struct port {
    std::string name{};
    std::string device{};  ///< an EAL vdev string or a PCI address
    uint16_t mtu = 1500;   ///< bytes of the Ethernet payload
    uint16_t rx_queues = 1;
    uint16_t descriptors = 1024;  ///< per queue, both ways
    std::string where{};          ///< "file:line", for what goes wrong at start
};

struct model {
    std::string file{};
    eal eal_options{};
    std::vector<unsigned> workers{};  ///< lcores; empty: all but the main one
    mempool pool{};
    tx sending{};
    std::vector<port> ports{};
    std::vector<std::pair<uint16_t, uint16_t>> patches{};  ///< indices into ports
};

/// Read and validate a file. Errors: ENOENT..., or EINVAL with "file:line" and a plain sentence.
[[nodiscard]] result<model> load(const std::filesystem::path& path);

/// The same for a text; `name` is what messages call it.
[[nodiscard]] result<model> load_text(std::string_view text, const std::string& name);

/// Split "-l 0-1 --no-pci" at blanks; quotes ('..' or "..") hold blanks together.
[[nodiscard]] result<std::vector<std::string>> split_arguments(std::string_view line);

}  // namespace turnpike::config
