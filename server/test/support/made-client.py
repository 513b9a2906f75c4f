"""Creates, lists and reads a run with the client that openapi-python-client made: FOLDER BASE_URL API_KEY."""

import json
import sys

folder, base_url, api_key = sys.argv[1:]
sys.path.insert(0, folder)

from made import AuthenticatedClient, models  # noqa: E402
from made.api.environments import list_environments  # noqa: E402
from made.api.runs import create_run, get_run, get_run_conversation, list_events, list_runs  # noqa: E402

client = AuthenticatedClient(base_url=base_url, token=api_key, raise_on_unexpected_status=True)
created = create_run.sync(client=client, body=models.RunAgentRequest(prompt="```sh\necho made\n```"))
assert isinstance(created, models.RunAgentResponse), created
run = get_run.sync(created.run_id, client=client)
assert isinstance(run, models.RunItem), run
listed = list_runs.sync(client=client)
assert isinstance(listed, models.ListRunsResponse), listed
assert [item.run_id for item in listed.runs] == [run.run_id]
while run.state not in ("SUCCEEDED", "FAILED", "ERROR", "CANCELLED"):
    run = get_run.sync(created.run_id, client=client)
page = list_events.sync(created.run_id, client=client)
assert isinstance(page, models.ListEventsResponse), page
events = {type(event).__name__ for event in page.events}
conversation = get_run_conversation.sync(created.run_id, client=client)
assert isinstance(conversation, models.Conversation), conversation
blocks = {
    type(block).__name__ for step in conversation.steps for message in step.messages for block in message.content
}
assert list_environments.sync(client=client).environments == []
print(json.dumps({"state": str(run.state), "events": sorted(events), "blocks": sorted(blocks)}))
