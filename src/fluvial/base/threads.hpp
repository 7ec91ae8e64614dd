// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace fluvial {

/// A thread that takes no signals: these are for the application's threads, whose calls they
/// interrupt. Throws as std::thread.
std::thread without_signals(std::function<void()> work);

}  // namespace fluvial
