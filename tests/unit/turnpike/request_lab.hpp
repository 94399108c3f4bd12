// SPDX-License-Identifier: BSD-3-Clause
// A forwarding router, and requests to its control socket.

#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "control/management/requests.hpp"
#include "lib/eal.hpp"
#include "reload_lab.hpp"

namespace turnpike::test {

using nlohmann::json;

class request_lab : public testing::Test {
  protected:
    request_lab()
        : file_(std::filesystem::temp_directory_path() /
                ("turnpike-requests-" + std::to_string(::getpid()) + ".yaml")) {
        // The devices of a lab are its rings: a configuration names them, and a lab's only worker.
        write(router("{to: 10.9.0.0/16, via: 10.0.2.2}, {to: 10.9.9.0/24, type: blackhole}"));
    }
    ~request_lab() override {
        std::filesystem::remove(file_);
        std::filesystem::remove(file_ + ".old");  // of a save
    }

    /// The text with the lab's device names: only the test's own edits then differ from the running
    /// configuration.
    std::string named(std::string text) {
        const auto& ports = l_.controller().running().ports;
        for (const char* const name : {"west", "east"}) {
            const std::string device = name == std::string("west") ? "device: d0" : "device: d1";
            text.replace(text.find(device), device.size(), "device: " + ports.at(name).device);
        }
        return "workers: [1]\nmempool: {buffers: 8191, ops: ring_mp_mc}\n" + text;
    }
    void write(const std::string& text) { std::ofstream(file_) << named(text); }

    json ask(const json& request) { return answer_to(request.dump()); }
    json answer_to(std::string_view line) {
        l_.worker().pause();  // as it is between two of its rounds
        const std::string answer = asked_.answer(line, client_);
        l_.worker().resume();
        EXPECT_EQ(answer.find('\n'), std::string::npos);
        json out = json::parse(answer);
        EXPECT_EQ(out.size(), 1U) << answer;
        return out;
    }
    json shown(const std::string& what, json more = json::object()) {
        more["request"] = "show";
        more["what"] = what;
        json out = ask(more);
        EXPECT_TRUE(out.contains("result")) << what << ": " << out;
        return out["result"];
    }
    json refused(const json& request) {
        json out = ask(request);
        EXPECT_TRUE(out.contains("error")) << request << ": " << out;
        return out["error"];
    }

    lab l_{router("{to: 10.9.0.0/16, via: 10.0.2.2}, {to: 10.9.9.0/24, type: blackhole}")};
    std::string file_;
    control::requests asked_{l_.controller(), file_};
    sources::socket_peer client_{.pid = 7, .uid = 8, .gid = 9, .connection = 1};
};

}  // namespace turnpike::test
