-- Whose budget of open runs, and whose turn in a queue, a run uses; null: its creator's. The agent of an identity creates runs as that
-- identity, and everybody can make identities: these runs are charged to the person who created the run above them.
alter table runs add column charged_to uuid references principals;
