"""Methods that explain the state: `doctor.run`, and `index.why` for one file. The state itself, which `gnoctl status`
shows, is in `gnod.handlers.index_status`.
"""
