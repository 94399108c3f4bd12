// SPDX-License-Identifier: BSD-3-Clause
#include "control/slow_path/reserved.hpp"

#include "packet/headers.hpp"

namespace turnpike::control::slow_path {

void reserved::forget_gone() noexcept {
    std::erase_if(known_, [this](const auto& k) {
        return context_.interface(k.first.first).kind != datapath::interface_kind::bridged;
    });
}

void reserved::handle(owned_mbuf p) {
    if (interface_of(p).kind != datapath::interface_kind::bridged) return p.consume();
    const auto& frame = packet::header_at<packet::ethernet_header>(p.lead().data());
    heard& h = known_[{p.about().in_interface, frame.destination.bytes[5]}];
    h.from = frame.source;
    ++h.frames;
    h.at_ms = context_.now_ms;
    p.consume();
}

}  // namespace turnpike::control::slow_path
