"""One function per method: parameters in, result out. The only place that knows both the wire's types and ours.

A handler decodes, calls one service and encodes. What takes more than that belongs to a service.
"""
