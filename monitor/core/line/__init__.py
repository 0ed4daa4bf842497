"""What a track's line is like, from its levels alone: steady noise, comfort noise, babble, music, silence.

One file a question; `track.Line` joins the answers, on a grid of media time, so that every replay gives the same.
"""
