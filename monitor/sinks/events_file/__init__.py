"""Events as JSON Lines in a file of their own, which is rotated. How a line comes to the disk: `line_file.py`; what
becomes of a file that is full: `rotation.py`; what a killed program left behind: `torn.py`."""
