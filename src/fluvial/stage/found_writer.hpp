// SPDX-License-Identifier: Apache-2.0
/// How a reader finds what is behind the name of a stream.
#pragma once

#include <optional>
#include <string>

#include "fluvial/base/clock.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/options.hpp"
#include "fluvial/stage/step_log.hpp"

namespace fluvial::stage {

/// What a reader finds under the name of a stream: a living writer, or steps that one has retained.
struct Found {
    std::optional<Contact> contact;
    std::optional<StepLog> retained;
    std::string why{};  ///< a contact that is served was not given, as far as is known
    bool any() const { return contact || retained; }
};

/// What there is now; `path`: of the contact file, unless the option contact says what that would,
/// or where that is served: then this waits for a reply, for a few seconds.
/// Throws StaleContact where the writer is dead and has retained nothing, and what read_contact and
/// open_retained throw.
Found look_for(const std::string& path, const std::string& name, const ReaderOptions& options);

/// The same, until there is something: the writer may be about to start. Waits. Throws TimedOut.
Found wait_for_writer(const std::string& path, const std::string& name,
                      const ReaderOptions& options, const Deadline& deadline);

}  // namespace fluvial::stage
