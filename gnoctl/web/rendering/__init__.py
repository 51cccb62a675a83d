"""Turn the text of a document into safe HTML. Must not depend on the daemon or requests; imported on first use."""
