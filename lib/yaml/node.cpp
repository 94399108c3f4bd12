// SPDX-License-Identifier: BSD-3-Clause
#include "yaml/node.hpp"

namespace turnpike::yaml {

std::string_view node::text() const noexcept {
    if (kind() == node_kind::nothing) return "~";
    if (kind() != node_kind::scalar) return {};
    return std::string_view(in_->texts).substr(entry().begin, entry().size);
}

std::optional<node> node::find(std::string_view key) const noexcept {
    if (kind() != node_kind::map) return std::nullopt;
    for (const node k : children())
        if (k.kind() == node_kind::scalar && k.text() == key) return k.value();
    return std::nullopt;
}

std::string node::path() const {
    if (at_ == 0) return in_->top;
    const node parent(*in_, entry().parent);
    std::string out = parent.path();
    if (parent.kind() == node_kind::list) {
        size_t index = 0;
        for (const node element : parent.children()) {
            if (element.at_ == at_) break;
            ++index;
        }
        return out + "[" + std::to_string(index) + "]";
    }
    if (!out.empty()) out += '.';
    return out.append(node(*in_, at_ - 1).text());
}

}  // namespace turnpike::yaml
