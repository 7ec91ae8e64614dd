// SPDX-License-Identifier: Apache-2.0
/// The contact from the writer itself, for a reader that knows one of its hosts and the port, and
/// has the key that both share (shared_key.hpp): no file system is needed then.
///
/// | the reader                  | the writer's first host         | what follows                    |
/// |-----------------------------|---------------------------------|---------------------------------|
/// | connects                    | is not there, or does not reply | it asks again, for as long as   |
/// |                             |                                 | it waits for a contact file     |
/// | proves the key, and has the | has another key: another        | Refused, on the reader          |
/// | writer prove it             | stream, or none of ours         |                                 |
/// | does not know the key       | has told it nothing             | the connection ends, at the     |
/// |                             |                                 | latest after 2 s                |
/// | says Contact                | has not all ranks together yet  | the connection ends; as above   |
/// | says Contact                | sends its contact               | the reader opens the stream     |
#pragma once

#include <optional>
#include <string>

#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/options.hpp"

namespace fluvial::stage {

/// A name such as "fluvial://node17:40000/run" becomes that of the stream, "run", and the option
/// contact "node17:40000". Throws InvalidArgument.
void take_address(std::string& name, ReaderOptions& options);

/// The option contact says where the contact is to be had, "node17:40000", and not what it is.
bool is_served(const ReaderOptions& options);

/// The contact that is served there; none where nothing is yet: then `why` tells the reason. Waits.
/// Throws InvalidArgument without a key, Refused when it is not the writer's.
std::optional<Contact> ask_for_contact(const std::string& name, const ReaderOptions& options,
                                       std::string& why);

}  // namespace fluvial::stage
