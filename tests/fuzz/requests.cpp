// SPDX-License-Identifier: BSD-3-Clause
// Bytes -> a client's stream, in parts -> the control socket's lines and a router's requests.
//
//   | part's length | all bytes, in parts of that ... |
//
// Invariants: the greeting, then one line of JSON for each line sent, with a result or an error
// that has a code and a text; the client is disconnected in the end. A changed state is valid, is
// read back as the same when it was written, and can be changed back, with all tables as they were.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "control/management/requests.hpp"
#include "lib/path_lab.hpp"
#include "sources/yaml_writer.hpp"
#include "start_eal.hpp"
#include "state/validate.hpp"

namespace turnpike {
namespace {

using nlohmann::json;

constexpr const char* configuration = R"(
ports:
  - {name: west, device: net_ring0, addresses: [10.0.1.254/24, "2001:db8:1::fe/64"]}
  - {name: east, device: net_ring1, addresses: [10.0.2.254/24]}
routes: [{to: 10.9.0.0/16, via: 10.0.2.2}, {to: 192.0.2.0/24, type: blackhole}]
neighbours: {max_entries: 64, static: [{address: 10.0.2.2, mac: "02:00:00:00:00:0d"}]}
)";

class asked {
  public:
    asked()
        : lab_(configuration),
          first_(lab_.controller().running_state()),
          worker_state_(worker_state()),
          socket_({.greeting = control::requests::greeting(),
                   .answer =
                       [this](std::string_view line, const sources::socket_peer& from) {
                           ++lines_;
                           return may_be_asked(line)
                                      ? requests_->answer(line, from)
                                      : control::requests::refusal({EPERM, {}, "no"});
                       },
                   .refusal = control::requests::refusal,
                   .gone = [this](const sources::socket_peer& p) { requests_->gone(p); },
                   .log = [](const std::string&) {}},
                  {.line_bytes = 4096}) {}

    void run(const uint8_t* data, size_t size) {
        if (size < 2) return;
        requests_.emplace(lab_.controller(), "/no/such.yaml");
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
        const owned_fd client(ends[1]);
        socket_.adopt(owned_fd(ends[0]));
        lines_ = 0;
        std::string heard;
        const size_t part = size_t{data[0]} * 16 + 1;
        for (size_t at = 1; at < size && socket_.clients() != 0; at += part) {
            (void)!::send(client.get(), data + at, std::min(part, size - at), MSG_NOSIGNAL);
            socket_.serve();
            receive(client, heard);
        }
        ::shutdown(client.get(), SHUT_WR);
        for (size_t i = 0; i < size + 10 && socket_.clients() != 0; ++i) {
            socket_.serve();
            receive(client, heard);
        }
        REQUIRE(socket_.clients() == 0);
        check(heard);
        change_back();
    }

  private:
    /// Neither files of this machine nor devices of it are opened, and none is closed: the lab's cannot be
    /// opened again.
    static bool may_be_asked(std::string_view line) {
        for (const char* word : {"file", "apply", "\\u", "device", "rx_queues", "descriptors"})
            if (line.find(word) != std::string_view::npos) return false;
        const json request = json::parse(line, nullptr, false);
        if (!request.is_object() || !request.contains("do") || !request["do"].is_array())
            return true;
        for (const json& edit : request["do"])
            if (edit.is_object() && edit.contains("del") && edit["del"].contains("port"))
                return false;
        return true;
    }
    /// Routes of both families, and next hops, of which each neighbour that is still known has one.
    [[nodiscard]] std::array<uint64_t, 3> worker_state() {
        control::controller& c = lab_.controller();
        return {c.routing().routes().v4().stats().routes, c.routing().routes().v6().stats().routes,
                c.nexthops().in_use() - c.routing().neighbours().size()};
    }
    void change_back() {
        control::controller& c = lab_.controller();
        if (c.running_state() == first_) return;
        REQUIRE(state::validate(c.running()).has_value());
        const auto again = sources::load_text(sources::to_yaml(c.running()), "written.yaml");
        REQUIRE(again.has_value());
        const auto differ = state::diff(c.running(), *again);
        REQUIRE(differ.has_value() && differ->empty());
        REQUIRE(c.apply(first_).has_value());
        lab_.control();  // next hops that are gone are given back
        REQUIRE(worker_state() == worker_state_);
    }
    static void receive(const owned_fd& client, std::string& heard) {
        char bytes[65536];
        ssize_t n;
        while ((n = ::recv(client.get(), bytes, sizeof bytes, 0)) > 0)
            heard.append(bytes, static_cast<size_t>(n));
    }
    void check(const std::string& heard) const {
        size_t answers = 0, refused = 0;
        for (size_t at = 0, end; at < heard.size(); at = end + 1) {
            end = heard.find('\n', at);
            REQUIRE(end != std::string::npos);
            const json one = json::parse(heard.substr(at, end - at));
            if (at == 0) {
                REQUIRE(one["schema"] == "turnpike.control/1");
                continue;
            }
            ++answers;
            REQUIRE(one.size() == 1 && (one.contains("result") || one.contains("error")));
            if (!one.contains("error")) continue;
            const json& e = one["error"];
            REQUIRE(!e["what"].get<std::string>().empty() && e["code"].is_string());
            REQUIRE(e["where"].is_null() || e["where"].is_string());
            refused += e["code"] == "EMSGSIZE";
        }
        REQUIRE(refused <= 1 && answers == lines_ + refused);
    }

    test::path_lab lab_;
    const std::shared_ptr<const state::configuration> first_;
    const std::array<uint64_t, 3> worker_state_;
    std::optional<control::requests> requests_;  ///< the requests of an input
    sources::line_socket socket_;
    size_t lines_ = 0;
};

asked* the_asked = nullptr;

}  // namespace
}  // namespace turnpike

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    turnpike::test::start_eal();
    turnpike::the_asked = new turnpike::asked;
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    turnpike::the_asked->run(data, size);
    return 0;
}
