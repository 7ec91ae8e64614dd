# SPDX-License-Identifier: Apache-2.0
"""Tasks of one or more ranks that fire when their inputs are ready."""
