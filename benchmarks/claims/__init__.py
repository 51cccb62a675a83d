"""Claims with what documents say of them, checked through the daemon."""
