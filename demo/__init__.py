# SPDX-License-Identifier: Apache-2.0
"""The demo: a molecular dynamics job streams its atoms into an analysis job; a crystal melts."""
