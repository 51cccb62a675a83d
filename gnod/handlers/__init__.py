"""One function per method: parameters in, result out. The only place that knows both the wire's types and ours.

Each module is one family of methods. Its `handlers` takes the services that the family needs and returns its methods.
"""
