"""Handle the disks and network drives of folders: find mounts, access drives that may not answer, and compare names of
files as the file system does.

Must not depend on collections or their files.
"""
