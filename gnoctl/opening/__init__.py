"""Show a file at its line or page in the user's own program: `viewers` chooses it, `starting` starts it.

Opens no file itself.
"""
