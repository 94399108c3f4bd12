// SPDX-License-Identifier: BSD-3-Clause
// Requests to a controller under test, and the steps of traces.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "control/management/requests.hpp"
#include "lib/path_lab.hpp"

namespace turnpike::test {

/// The answer to a request, between two rounds of the worker.
inline nlohmann::json answer_of(path_lab& l, control::requests& r, const nlohmann::json& request) {
    l.worker().pause();
    nlohmann::json answer = nlohmann::json::parse(r.answer(request.dump(), {}));
    l.worker().resume();
    return answer;
}
inline nlohmann::json ask(path_lab& l, const nlohmann::json& request) {
    control::requests r(l.controller(), "none.yaml");
    return answer_of(l, r, request);
}
inline nlohmann::json result_of(path_lab& l, const nlohmann::json& request) {
    const nlohmann::json answer = ask(l, request);
    EXPECT_TRUE(answer.contains("result")) << answer.dump();
    return answer.value("result", nlohmann::json::object());
}

/// "rx iface_input ip_fast tx"
inline std::string stages_of(const nlohmann::json& trace) {
    std::string out;
    for (const nlohmann::json& step : trace["path"])
        out += (out.empty() ? "" : " ") + std::string(step.contains("copy") ? "+" : "") +
               step["stage"].get<std::string>();
    return out;
}
/// The first step of a stage; null: none.
inline nlohmann::json step_of(const nlohmann::json& trace, const std::string& stage) {
    for (const nlohmann::json& step : trace["path"])
        if (step["stage"] == stage) return step;
    return nullptr;
}

inline std::string hex_of(const byte_vector& frame) {
    std::string hex;
    for (const uint8_t b : frame)
        hex += "0123456789abcdef"[b >> 4], hex += "0123456789abcdef"[b & 15];
    return hex;
}

/// Drains all ports, and checks the balance.
inline void finish(path_lab& l) {
    for (uint16_t p = 0; p < l.controller().ports().open().size(); ++p) l.sent(p);
    l.check_balance();
}

}  // namespace turnpike::test
