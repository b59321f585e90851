"""`python -m acidtest` is the command line."""

import sys

from acidtest.cli import main

sys.exit(main())
