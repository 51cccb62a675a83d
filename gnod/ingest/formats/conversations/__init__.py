"""What people and agents said to each other: one document for each conversation, one heading for each message.

    conversation   messages, and the documents of bounded text that they become
    rendering      messages as Markdown; what they quote does not become structure
    exports        files that are one JSON text; others are read line by line

There is one module for each program that writes conversations; `agents` has those of coding agents.
"""
