"""Damage: how it is detected, classified and repaired."""
