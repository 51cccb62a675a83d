"""From text to the terms of the lexical index. Pure; used for documents and for queries alike."""
