"""What people and agents said to each other: one document for each conversation, one heading for each message.

    message     a message, and what a reader has to know to go on in the middle of a file
    rendering   messages as Markdown; what they quote does not become structure
    parts       a conversation as documents of bounded text

There is one module for each program that writes conversations; a format that grows is read line by line.
"""
