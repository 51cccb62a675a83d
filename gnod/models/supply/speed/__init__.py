"""How fast a model of a known shape would run on this machine, measured before it is downloaded."""
