"""Counts first, rates last: how good a restored transcript is. Imports nothing of the models."""
