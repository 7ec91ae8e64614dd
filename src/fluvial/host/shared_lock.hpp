// SPDX-License-Identifier: Apache-2.0
/// Mutual exclusion of processes that share memory; it survives the death of any participant.
#pragma once

#include <pthread.h>

namespace fluvial::host {

/// A mutex in shared memory. When its owner is killed, the next to lock it goes on; the state that
/// it guards must be such that every store of a critical section leaves it consistent.
class SharedMutex {
  public:
    /// Once, by the process that creates the memory.
    void initialise();
    /// Throws PeerStalled after `timeout_s`: its owner was stopped (SIGSTOP) inside a critical
    /// section, which lasts microseconds otherwise. The mutex is then as before, and may be tried
    /// again once that process runs.
    void lock(double timeout_s = 10);
    void unlock();

  private:
    pthread_mutex_t mutex_;
};

}  // namespace fluvial::host
