"""From the text of a document to HTML that is safe to show. Knows no daemon and no request; imported on first use."""
