# SPDX-License-Identifier: Apache-2.0
"""What every other floor needs: checked arguments, and what messages say of values."""
