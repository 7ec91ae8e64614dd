#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec python -m fluvial "$@"
