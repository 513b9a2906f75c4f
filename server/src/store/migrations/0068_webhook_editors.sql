-- Who gave a webhook its address: letters name that person, who need not have created it.
alter table webhooks add column editor_id uuid references principals;

update webhooks set editor_id = creator_id;

alter table webhooks alter column editor_id set not null;
