"""Find the links in a document. Each syntax has a module, and `extraction` chooses the modules. Pure."""
