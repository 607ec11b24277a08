"""A reward that is the length of a completion, after REPRISE_TEST_SECONDS. It represents a program of a user."""

import json
import os
import sys
import time

for line in sys.stdin:
    request = json.loads(line)
    time.sleep(float(os.environ.get("REPRISE_TEST_SECONDS", "0")))
    reply = {"id": request["id"], "reward": len(request.get("completion", "")) / 8}
    print(json.dumps(reply), flush=True)
