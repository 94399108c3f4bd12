// SPDX-License-Identifier: BSD-3-Clause
// Precompiled for control (cpp_pch): beside what is for all libraries, the controller, which most of its sources
// include. (JSON, for a few, would cost the others more than it saves those.) A source includes what it uses all
// the same.
#include "control/controller.hpp"
#include "turnpike.hpp"
