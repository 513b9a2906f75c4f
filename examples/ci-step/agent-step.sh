#!/usr/bin/env bash
# A step of a CI job: agent-step.sh PROMPT_FILE ENVIRONMENT. Shows the run live, prints what it changed, and ends as it ended:
# 0 only when it succeeded.
set -euo pipefail

commit=$(git rev-parse HEAD)
run_id=$(npx runyard run --file "$1" --env "$2" --name ci --metadata "commit=$commit" --detach)
# A job that is cancelled leaves no agent at work.
trap 'npx runyard cancel "$run_id"; exit 130' INT TERM

code=0
# In the background, because the shell hears signals only while it waits.
npx runyard follow "$run_id" &
wait $! || code=$?

echo "What run $run_id changed:"
npx runyard diff "$run_id"
exit "$code"
