// SPDX-License-Identifier: BSD-3-Clause
// Files named in requests, directly or in the request's configuration: opened with the client's rights,
// so that no reply quotes a file that the client cannot read.
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>

#include "base/owned_fd.hpp"
#include "control/management/client_devices.hpp"
#include "request_lab.hpp"
#include "sources/file_access.hpp"

namespace turnpike {
namespace {

using namespace test;

constexpr const char* secret = "root:$6$salt$hash:20000:0:99999:7:::";

class request_files : public request_lab {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root reads the files of all others";
        std::filesystem::create_directories(folder_);
        ::chmod(folder_.c_str(), 0755);
    }
    ~request_files() override { std::filesystem::remove_all(folder_); }

    std::string file(const char* name, const std::string& text, mode_t mode) {
        const auto path = folder_ / name;
        std::ofstream(path) << text;
        EXPECT_EQ(::chmod(path.c_str(), mode), 0);
        return path;
    }
    /// By the file of the request, or in a sentence about one that its configuration names.
    static bool is_denied(const json& error) {
        const auto what = error["what"].get<std::string>();
        return error["code"] == "EACCES" || what.find("(Permission denied)") != std::string::npos ||
               what.find("cannot be read: cannot open the file") != std::string::npos;
    }
    /// Every request that reads files, each with `path` as its file or as one that its
    /// configuration names.
    std::vector<json> requests_with(const std::string& path) {
        std::vector<json> out;
        const std::string named_by[] = {
            named(router()) + "acl: [{name: l, rules: [{action: deny, file: " + path + "}]}]\n",
            named(router()) + "pcie_profiles: " + path + "\n",
            named(router("{file: " + path + "}"))};
        for (const char* request : {"check", "diff", "apply"}) {
            out.push_back({{"request", request}, {"file", path}});
            for (const std::string& text : named_by)
                out.push_back({{"request", request}, {"text", text}, {"name", "o.yaml"}});
        }
        const json list = {{"name", "l"}, {"rules", {{{"action", "deny"}, {"file", path}}}}};
        out.push_back({{"request", "change"}, {"do", {{{"add", {{"acl", list}}}}}}});
        return out;
    }

    std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                    ("turnpike-request-files-" + std::to_string(::getpid()));
};

TEST_F(request_files, of_others_are_not_quoted) {
    const std::string path = file("shadow", secret, 0600);
    for (const json& request : requests_with(path)) {
        const json e = refused(request);
        EXPECT_EQ(e.dump().find("salt"), std::string::npos) << request << ": " << e;
        EXPECT_TRUE(is_denied(e)) << request << ": " << e;
    }
    EXPECT_TRUE(std::ifstream(path).good()) << "turnpike itself has its own rights again";
}

/// Drivers use them with turnpike's rights, when the device is probed.
TEST_F(request_files, are_not_named_by_a_clients_devices) {
    const std::string path = file("precious", secret, 0600);
    const std::string devices[] = {"net_simnic9,wire=record:" + path,
                                   "net_pcap9,tx_pcap=" + path,
                                   "net_pcap9,rx_pcap=precious",
                                   "net_xsk9,iface=lo,filter=" + path,
                                   "net_af_xdp9,iface=lo,xdp_prog=" + path,
                                   "net_failsafe9,exec(cp " + path + " /tmp)",
                                   "net_failsafe9,fd(3)",
                                   "net_failsafe9,dev(net_null8)Xfd(3)",
                                   "net_failsafe9,dev(net_null8);exec(id)",
                                   "net_failsafe9,dev(net_pcap9,tx_pcap=" + path + ")",
                                   "net_null9,other=" + path};
    const auto port_with = [](const std::string& device) {
        return json{{"name", "extra"},
                    {"device", device},
                    {"optional", true},
                    {"addresses", {"192.0.2.1/24"}}};
    };
    const auto requests_for = [&](const std::string& device) {
        const std::string text =
            named(router("", "", "10.0.1.254/24",
                         "  - {name: extra, optional: true, addresses: [192.0.2.1/24], device: \"" +
                             device + "\"}\n"));
        const json edits = {{{"add", {{"port", port_with(device)}}}}};
        return std::vector<json>{{{"request", "apply"}, {"text", text}, {"name", "o.yaml"}},
                                 {{"request", "check"}, {"text", text}, {"name", "o.yaml"}},
                                 {{"request", "change"}, {"do", edits}},
                                 {{"request", "change"}, {"do", edits}, {"dry", true}}};
    };
    for (const std::string& device : devices)
        for (const json& request : requests_for(device)) {
            const json e = refused(request);
            EXPECT_EQ(e["code"], "EACCES") << request << ": " << e;
            EXPECT_EQ(e["where"], "port 'extra'") << e;
            EXPECT_EQ(e.dump().find("salt"), std::string::npos) << e;
        }
    std::string text;
    std::getline(std::ifstream(path), text);
    EXPECT_EQ(text, secret);
    // Root may. Sockets have other limits.
    client_.uid = 0;
    EXPECT_TRUE(ask(requests_for("net_pcap9,rx_pcap=precious")[1]).contains("result"));
    client_.uid = 8;
    for (const char* device :
         {"net_vhost9,iface=/run/turnpike/guest", "virtio_user9,path=/run/turnpike/peer",
          "net_memif9,socket=/run/turnpike/memif,role=server", "net_null9",
          "net_failsafe9,dev(net_null8)"})
        EXPECT_TRUE(ask(requests_for(device)[1]).contains("result")) << device;
    for (const char* device : {"0000:3b:00.0", "0000:3b:00.0,mprq_en=1", "net_ring_lab0west",
                               "net_bonding0,mode=1,slave=0000:3b:00.0"})
        EXPECT_EQ(control::privileged_argument(device), "") << device;
}

TEST_F(request_files, of_the_client_are_quoted_as_before) {
    const std::string path = file("notes", secret, 0644);
    for (const json& request : requests_with(path)) {
        const json answer = ask(request);
        EXPECT_FALSE(answer.contains("error") && is_denied(answer["error"]))
            << request << ": " << answer;
    }
    EXPECT_NE(refused(requests_with(path)[3])["what"].get<std::string>().find("root:$6$"),
              std::string::npos);
    // Root's client reads what root reads.
    client_.uid = client_.gid = 0;
    const std::string own = file("own", secret, 0600);
    EXPECT_NE(refused(requests_with(own)[3])["what"].get<std::string>().find("root:$6$"),
              std::string::npos);
}

TEST_F(request_files, are_read_by_any_group_of_the_client) {
    const std::string path = file("group", secret, 0640);
    const auto quoted = [&] {
        return refused(requests_with(path)[3])["what"].get<std::string>().find("root:$6$") !=
               std::string::npos;
    };
    constexpr gid_t operators = 4242;
    ASSERT_EQ(::chown(path.c_str(), 0, operators), 0);
    EXPECT_FALSE(quoted());
    client_.groups = {77, operators};
    EXPECT_TRUE(quoted());
    client_.groups.clear();
    client_.gid = operators;
    EXPECT_TRUE(quoted());
    // Group 0 is turnpike's, not the client's.
    client_.gid = 9;
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    EXPECT_FALSE(quoted());
}

owned_fd memory_file(const std::string& text) {
    owned_fd out(::memfd_create("text", MFD_CLOEXEC));
    EXPECT_EQ(::write(out.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return out;
}

/// In memory only: a read of another file might block all clients.
TEST_F(request_files, are_read_by_their_descriptors) {
    const std::string all = named(router());
    const owned_fd fd = memory_file(all);
    ASSERT_EQ(::lseek(fd.get(), 0, SEEK_END), static_cast<off_t>(all.size()));
    client_.descriptor = fd.get();
    for (const char* request : {"check", "diff", "apply"}) {
        const json answer = ask({{"request", request}, {"name", "own"}});
        EXPECT_TRUE(answer.contains("result")) << answer;
        for (const char* other : {"text", "file"})
            EXPECT_EQ(refused({{"request", request}, {"name", "own"}, {other, all}})["code"],
                      "EINVAL");
    }
    const owned_fd wrong = memory_file("ports: 7");
    client_.descriptor = wrong.get();
    EXPECT_EQ(refused({{"request", "check"}, {"name", "wrong"}})["where"], "wrong:1");
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    const owned_fd out_of_pipe(pipe[0]), into_pipe(pipe[1]),
        of_procfs(::open("/proc/self/status", O_RDONLY | O_CLOEXEC)),
        folder(::open(folder_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    for (const owned_fd* other : {&out_of_pipe, &of_procfs, &folder}) {
        client_.descriptor = other->get();
        const json why = refused({{"request", "check"}, {"name", "other"}});
        EXPECT_EQ(why["where"], "other");
        EXPECT_EQ(why["what"],
                  "is sent by a descriptor that is not of a file in memory (memfd_create)");
    }
    client_.descriptor = -1;
    EXPECT_EQ(refused({{"request", "check"}, {"name", "none"}})["code"], "EINVAL");
}

struct rights {
    uid_t user;
    gid_t group;
    std::vector<gid_t> groups;
    std::string capabilities;
    int dumpable, parent_signal;
    bool operator==(const rights&) const = default;
};
rights of_this_thread() {
    rights out{};
    out.user = static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1)));
    out.group = static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1)));
    out.groups.resize(64);
    out.groups.resize(static_cast<size_t>(std::max(0, ::getgroups(64, out.groups.data()))));
    std::ifstream status("/proc/thread-self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Cap")) out.capabilities += line + "\n";
    out.dumpable = ::prctl(PR_GET_DUMPABLE);
    ::prctl(PR_GET_PDEATHSIG, &out.parent_signal);
    return out;
}

TEST_F(request_files, leave_the_thread_with_its_own_rights) {
    ::prctl(PR_SET_DUMPABLE, 1);
    ::prctl(PR_SET_PDEATHSIG, SIGURG);  // ignored, were it ever to come
    const rights before = of_this_thread();
    client_.groups = {77, 4242};
    rights inside{};
    ASSERT_TRUE(sources::with_file_access_of(client_, [&] { inside = of_this_thread(); }));
    EXPECT_EQ(inside.user, client_.uid);
    EXPECT_EQ(inside.group, client_.gid);
    EXPECT_EQ(inside.groups, (std::vector<gid_t>{77, 4242}));
    EXPECT_NE(inside.capabilities, before.capabilities);
    EXPECT_EQ(of_this_thread(), before);
    EXPECT_THROW((void)sources::with_file_access_of(client_, [] { throw std::bad_alloc(); }),
                 std::bad_alloc);
    EXPECT_EQ(of_this_thread(), before);
    ::prctl(PR_SET_PDEATHSIG, 0);
}

}  // namespace
}  // namespace turnpike
