# SPDX-License-Identifier: Apache-2.0
"""A cable with a rate, a delay, losses and outages, between two network namespaces.

Each end is a TAP device, and a thread carries the frames from one to the other; kernels without
netem can do that, too.
"""

import contextlib
import fcntl
import os
import random
import select
import struct
import threading
import time
from collections import deque

TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
FRAME_BYTES_MAX = 65_536
FRAMES_A_TURN = 64  # of one end, then the other has its turn


def tap(name):
    """Make a TAP device, which lives as long as the file descriptor that is returned."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    except OSError:
        os.close(device)
        raise
    return device


class Direction:
    """Frames under way from one end to the other."""

    def __init__(self, source, sink, cable):
        self.source, self.sink, self.cable = source, sink, cable
        self.frames = deque()  # with the time at which they arrive
        self.free_s = 0.0  # when the sender has finished its frames

    def take(self):
        """Put what has been sent on its way. A router with too much to do drops frames."""
        cable = self.cable
        for _ in range(FRAMES_A_TURN):
            try:
                frame = os.read(self.source, FRAME_BYTES_MAX)
            except BlockingIOError:
                return
            now = time.monotonic()
            waiting_s = max(0.0, self.free_s - now)
            lost = cable.random.random() < cable.loss or now < cable.dead_until_s
            if lost or waiting_s > cable.queue_s:
                cable.dropped += 1
                continue
            self.free_s = max(self.free_s, now) + 8 * len(frame) / cable.bits_a_second
            self.frames.append((self.free_s + cable.delay_s, frame))

    def deliver(self):
        """Hand over what has arrived; return when there will be more."""
        while self.frames and self.frames[0][0] <= time.monotonic():
            _, frame = self.frames.popleft()
            with contextlib.suppress(OSError):  # the other end is down
                os.write(self.sink, frame)
                self.cable.carried_bytes += len(frame)
        return self.frames[0][0] if self.frames else float("inf")


class SlowCable:
    """A cable that is plugged in as soon as it is made; `ends` are the names of the devices."""

    def __init__(self, ends, bits_a_second=100e6, delay_s=0.005, loss=0.0, queue_s=0.02):
        self.bits_a_second, self.delay_s = bits_a_second, delay_s
        self.loss, self.queue_s = loss, queue_s
        self.random = random.Random(1)
        self.dead_until_s = 0.0
        self.dropped = 0
        self.carried_bytes = 0
        self.devices = []
        try:
            self.devices += [tap(name) for name in ends[:1]]
            self.devices += [tap(name) for name in ends[1:]]
        except OSError:
            self._close()
            raise
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._carry, daemon=True)
        self.thread.start()

    def fail_for(self, seconds):
        """Lose everything for a while."""
        self.dead_until_s = time.monotonic() + seconds

    def unplug(self):
        """Stop, and remove the devices."""
        self.stopping.set()
        self.thread.join()
        self._close()

    def _close(self):
        for device in self.devices:
            os.close(device)

    def _carry(self):
        one, other = self.devices
        directions = {one: Direction(one, other, self), other: Direction(other, one, self)}
        while not self.stopping.is_set():
            next_s = min(direction.deliver() for direction in directions.values())
            timeout = min(0.1, max(0.0, next_s - time.monotonic()))
            for device in select.select(list(directions), [], [], timeout)[0]:
                directions[device].take()
