"""From the text of a document to HTML that is safe to show. Must not depend on the daemon or requests; imported on
first use."""
