# SPDX-License-Identifier: Apache-2.0
"""The user's communicators."""
