"""The commands that connect gnod with the system, shells and AI agents.

What they install is in `gnoctl.service` and `gnoctl.agents`.
"""
