-- What a webhook is sent: our events, or a message that a chat or a person reads.
alter table webhooks add column format text not null default 'runyard';
