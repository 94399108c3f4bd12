// SPDX-License-Identifier: BSD-3-Clause
#include "rxtx/pci_devices.hpp"

#include <algorithm>
#include <regex>

namespace turnpike::rxtx {

std::vector<std::string> pci_devices_in(const std::vector<std::string>& devices) {
    static const std::regex address(
        "(^|[^0-9a-fA-F:.])(([0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{1,2}:[0-9a-fA-F]{1,2}"
        "\\.[0-7])($|[^0-9a-fA-F:.])");
    std::vector<std::string> out;
    for (const std::string& device : devices)
        for (std::sregex_iterator at(device.begin(), device.end(), address), end; at != end; ++at) {
            std::string one = at->position(2) == 0 ? device : at->str(2);
            if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(std::move(one));
        }
    return out;
}

}  // namespace turnpike::rxtx
