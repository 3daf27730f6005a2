#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drive the built command: run_cli_tests.py PATH/TO/crawlarchive [UNITTEST ARGUMENTS]."""

import os
import sys
import unittest

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    os.environ["CRAWLARCHIVE_BINARY"] = os.path.abspath(sys.argv[1])
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    sys.dont_write_bytecode = True
    if len(sys.argv) > 2:
        unittest.main(module=None, argv=[sys.argv[0], *sys.argv[2:]])
    suite = unittest.defaultTestLoader.discover(here, pattern="test_*.py", top_level_dir=here)
    sys.exit(not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful())
