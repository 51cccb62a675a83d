"""One function per method, from parameters to result. Only this package uses both the wire's types and the services'
types.

A handler decodes, calls one service and encodes. Any other work belongs to a service.
"""
