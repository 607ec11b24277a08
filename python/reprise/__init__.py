"""The part of Reprise that is written in Python."""
