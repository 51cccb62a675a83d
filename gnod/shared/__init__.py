"""Collections that many people share: published to an engine by one daemon, searched by others."""
