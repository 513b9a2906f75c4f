"""An S3-compatible server that checks signatures and permissions: moto, with one bucket and two users of it.

Prints one line of JSON when it listens: its port and both users' keys. `owner` may do everything with S3, `reader` may read.
Ends when its standard input does.
"""

import json
import os
import sys

# Before moto reads its settings: no request goes unchecked.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "0"
# A listing of few objects has several pages.
os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = "50"

from moto.core import DEFAULT_ACCOUNT_ID
from moto.iam.models import iam_backends
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

BUCKET = "runyard-test"


def add_user(name: str, actions: list[str]) -> dict[str, str]:
    iam = iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
    iam.create_user("us-east-1", name)
    statement = [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
    iam.put_user_policy(name, "s3", json.dumps({"Version": "2012-10-17", "Statement": statement}))
    key = iam.create_access_key(name)
    return {"access_key_id": key.access_key_id, "secret_access_key": key.secret_access_key}


def main() -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    s3_backends[DEFAULT_ACCOUNT_ID]["aws"].create_bucket(BUCKET, "us-east-1")
    users = {
        "owner": add_user("owner", ["s3:*"]),
        "reader": add_user("reader", ["s3:Get*", "s3:List*"]),
    }
    print(json.dumps({"port": server.get_host_and_port()[1], "bucket": BUCKET, **users}), flush=True)
    sys.stdin.read()
    server.stop()


main()
