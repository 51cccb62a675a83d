"""Show a file at its line or page in the user's own program: `viewers` chooses it, `starting` starts it.

It does not open files itself.
"""
