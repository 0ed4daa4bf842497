"""Across calls: how often callers barge in on each agent, what is usual for it, and when it is far more than that.

Pure like the rest of the core: no clock. Time is given as the number of a *step* (60 s of the wall clock by default),
and events come in as the calls tell them. The statistics are those of the product's metrics, section 4.
"""
