"""`gnoctl ui`: search as you type, on a terminal. A client of the socket like every command.

`session` and `connection` know the daemon and no screen; `app` composes the screen from `results`, `preview`,
`filters`, `ask` and `bars`. `linear` is the same search as a dialogue in lines, and does not import Textual.
"""
