// SPDX-License-Identifier: BSD-3-Clause
#include "config/yaml_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/owned_fd.hpp"

namespace turnpike::config {
namespace {

std::string at(const std::string& name, const YAML::Mark& mark) {
    return mark.is_null() ? name : name + ":" + std::to_string(mark.line + 1);
}

struct refused : std::runtime_error {
    refused(const YAML::Mark& m, const std::string& text) : std::runtime_error(text), mark(m) {}
    YAML::Mark mark;
};

/// Sees the document as a stream, before any tree is built from it.
class gatekeeper final : public YAML::EventHandler {
  public:
    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor, "~"); }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        throw refused(mark, "aliases (*name) are not taken here; write the value out");
    }
    void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  const std::string& value) override {
        leaf(mark, anchor, value);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, anchor, false);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, anchor, true);
    }
    void OnMapEnd() override { close(); }

  private:
    struct level {
        bool map = false;
        bool key_next = true;
        std::set<std::string> keys{};
    };

    static void no_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (anchor != YAML::NullAnchor)
            throw refused(mark, "anchors (&name) are not taken here; write the value out");
    }

    void leaf(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& value) {
        no_anchor(mark, anchor);
        if (levels_.empty() || !levels_.back().map) return;
        level& map = levels_.back();
        if (map.key_next && !map.keys.insert(value).second)
            throw refused(mark, "key '" + value + "' is given twice");
        map.key_next = !map.key_next;
    }

    void open(const YAML::Mark& mark, YAML::anchor_t anchor, bool map) {
        no_anchor(mark, anchor);
        if (!levels_.empty() && levels_.back().map && levels_.back().key_next)
            throw refused(mark, "a key must be plain text");
        if (levels_.size() == max_depth)
            throw refused(mark, "nested deeper than " + std::to_string(max_depth) + " levels");
        levels_.push_back({.map = map});
    }

    void close() {
        levels_.pop_back();
        if (!levels_.empty() && levels_.back().map) levels_.back().key_next = true;
    }

    std::vector<level> levels_;
};

}  // namespace

result<std::string> read_file(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a FIFO nobody writes to must not hang.
    const owned_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) return fail(errno, path, "cannot open the file");
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return fail(errno, path, "cannot look at the file");
    if (!S_ISREG(status.st_mode)) return fail(EINVAL, path, "is not a regular file");
    const std::string limit = std::to_string(max_file_bytes >> 20) + " MB";
    std::string text;
    char chunk[65536];
    while (true) {
        const ssize_t got = ::read(fd.get(), chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(errno, path, "cannot read the file");
        if (got == 0) break;
        text.append(chunk, static_cast<size_t>(got));
        if (text.size() > max_file_bytes) return fail(EINVAL, path, "is larger than " + limit);
    }
    return text;
}

result<YAML::Node> parse_yaml(std::string_view text, const std::string& name) {
    if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
        const auto line =
            1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(nul), '\n');
        return fail(EINVAL, name + ":" + std::to_string(line), "holds a NUL byte");
    }
    try {
        const std::string copy(text);
        std::istringstream events(copy);
        YAML::Parser parser(events);
        gatekeeper gate;
        if (!parser.HandleNextDocument(gate)) return fail(EINVAL, name, "is empty");
        if (parser.HandleNextDocument(gate))
            return fail(EINVAL, name, "holds more than one YAML document");
        return YAML::Load(copy);
    } catch (const refused& complaint) {
        return fail(EINVAL, at(name, complaint.mark), complaint.what());
    } catch (const YAML::Exception& complaint) {
        return fail(EINVAL, at(name, complaint.mark), "is not YAML: " + complaint.msg);
    }
}

}  // namespace turnpike::config
