#!/usr/bin/env bash
# Runs a test of this folder; -B keeps compiled modules out of the tree.
exec python3 -B "$@"
