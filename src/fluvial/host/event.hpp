// SPDX-License-Identifier: Apache-2.0
/// Wakes a thread that waits for descriptors (an eventfd): what a Doorbell is for threads that wait
/// for memory. It can be handed to other processes of the host.
#pragma once

#include "fluvial/host/memory_file.hpp"

namespace fluvial::host {

class Event {
  public:
    /// Throws SystemError when there is no descriptor for it.
    Event();
    /// Takes over what came from another process.
    explicit Event(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
    void ring() const;
    /// To be called when the ring was noticed.
    void clear() const;
    int descriptor() const { return descriptor_.get(); }

  private:
    Descriptor descriptor_;
};

}  // namespace fluvial::host
