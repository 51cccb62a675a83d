"""The links in a document, one module for each syntax; `extraction` chooses the modules. Pure."""
