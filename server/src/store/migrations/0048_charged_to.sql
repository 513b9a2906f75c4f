-- Whose budget of open runs, and whose turn in a queue, a run uses; null: its creator's. The agent of an identity creates runs as that
-- identity, and everybody can make identities: these runs are charged to the person who created the run above them.
alter table runs add column charged_to uuid references principals;

-- Open runs are counted by whom they are charged to.
drop index runs_open;

create index runs_open on runs (coalesce(charged_to, creator_id)) where state in ('QUEUED', 'CLAIMED', 'INPROGRESS');
