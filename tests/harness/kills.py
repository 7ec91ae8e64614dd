# SPDX-License-Identifier: Apache-2.0
"""At how many moments each of the tests kills whose names say `killed_at_any_moment`.

FLUVIAL_KILLS says it, or 20; `./run soak --kills` takes 200.
"""

import os

KILLS = int(os.environ.get("FLUVIAL_KILLS", "20"))
TAKES_S = 60 + 2 * KILLS
"""After so many seconds such a test hangs."""
