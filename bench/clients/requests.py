"""`requests.py MODULE URL COUNT`: requests per second, and by how many MB the memory grew at most while doing them."""

import importlib
import json
import resource
import sys
import time

module, url, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
library = importlib.import_module(module)
if module == "oz_agent_sdk":
    oz = library.OzAPI(api_key="ry_bench", base_url=url)
    get = oz.agent.runs.retrieve
else:
    get = library.Runyard(api_key="ry_bench", base_url=url).runs.retrieve


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


for _ in range(200):
    get("r1")
before = peak_mb()
started = time.perf_counter()
for _ in range(count):
    get("r1")
per_second = count / (time.perf_counter() - started)
print(json.dumps({"per_second": per_second, "growth": peak_mb() - before}))
