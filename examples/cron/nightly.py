"""A cron job: nightly.py PROMPT_FILE ENVIRONMENT. One run a day, and no output unless somebody has to look.

Cron mails what a job prints, so a good night is a quiet one.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

from runyard import Runyard, RunyardError

AN_HOUR = 3600.0


def main(prompt_file: str, environment: str) -> int:
    today = date.today().isoformat()
    with Runyard() as client:
        try:
            run = client.runs.create_and_wait(
                prompt=Path(prompt_file).read_text(),
                title=f"Nightly, {today}",
                config={"name": "nightly", "environment_id": environment},
                # Started twice on one day, by two machines perhaps, it waits for the run there is.
                idempotency_key=f"nightly-{environment}-{today}",
                raise_on_failure=False,
                max_wait=AN_HOUR,
            )
        except RunyardError as error:
            link = f" Run {error.run_id} may go on." if error.run_id else ""
            print(f"The nightly run has no result: {error}{link}", file=sys.stderr)
            return 1
        if run.state == "SUCCEEDED":
            return 0
        reason = run.status_message.message if run.status_message else "no reason was given"
        print(f"The nightly run ended as {run.state}: {reason}\n{run.session_link}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: nightly.py PROMPT_FILE ENVIRONMENT")
    sys.exit(main(sys.argv[1], sys.argv[2]))
