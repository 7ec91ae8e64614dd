# SPDX-License-Identifier: Apache-2.0
"""Steps of one series, or of several as one, put into another: what `fluvial.pipe` does."""
