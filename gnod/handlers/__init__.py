"""One function per method: parameters in, result out. The only place that uses both the wire types and the internal
ones.

Each module is one family of methods. Its `handlers` takes the services that the family needs and returns its methods.
"""
