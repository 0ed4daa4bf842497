"""`python -m monitor` is `turnwatch`."""

import sys

from monitor.cli import main

sys.exit(main())
