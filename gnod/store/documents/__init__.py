"""Documents, their texts and the full-text table."""
