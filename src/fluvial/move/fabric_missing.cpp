// SPDX-License-Identifier: Apache-2.0
/// In the place of fabric_read.cpp where libfabric's headers were missing when this was built.
#include "fluvial/base/error.hpp"
#include "fluvial/move/fabric_read.hpp"
#include "fluvial/move/remote_request.hpp"

namespace fluvial::move {
namespace {

const InvalidArgument& missing() {
    static const InvalidArgument error(Problem{
        "Fluvial was built without libfabric", "transport='libfabric'", "transport='auto' or 'tcp'",
        "Build it where libfabric's headers are (Debian: libfabric-dev), with "
        "FLUVIAL_LIBFABRIC=ON"});
    return error;
}

}  // namespace

bool knows_libfabric() {
    return false;
}

std::unique_ptr<FabricHalf> open_fabric(const std::string& /*provider*/,
                                        const std::string& /*address*/) {
    throw missing();
}

std::unique_ptr<RemoteServer> serve_fabric(SecureConnection connection,
                                           const std::string& /*provider*/) {
    connection.post(encode_refusal(missing()));
    connection.flush();
    throw missing();
}

}  // namespace fluvial::move
