"""Converts conversations of people and agents: one document for each conversation, one heading for each message.

    conversation   messages, and the documents of limited size that they become
    rendering      messages as Markdown; headings in quoted text do not become structure
    exports        files that are one JSON text; other files are read line by line

Each program that writes conversations has a module; the coding agents share `agents`.
"""
