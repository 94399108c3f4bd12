// SPDX-License-Identifier: BSD-3-Clause
#include "sources/yaml_mirrors.hpp"

#include <fmt/format.h>

#include "sources/fields.hpp"

namespace turnpike::sources {

void read_mirror(const yaml::reader& from, state::configuration& into, bool replace) {
    key_list().add(mirror_fields(), of_mirror).expect(from, {"name"});
    require_fields(from, mirror_fields());
    state::mirror m;
    m.where.text = from.where();
    read_fields(from, mirror_fields(), of_mirror, into, m);
    const std::string name = from.at("name").name();
    state::mirror* const there = into.mirrors.find(name);
    if (there != nullptr && !replace)
        from.at("name").refuse(fmt::format("is '{}', which another mirror is called", name));
    if (there != nullptr)
        *there = std::move(m);
    else
        into.mirrors.add(name, std::move(m));
}

}  // namespace turnpike::sources
