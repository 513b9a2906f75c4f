-- What makes one delivery one run: of GitHub and Linear their signature, since the id that they send is not signed.
alter table trigger_deliveries add column signed_as text;

update trigger_deliveries set signed_as = sender_delivery_id;

alter table trigger_deliveries drop constraint trigger_deliveries_trigger_id_sender_delivery_id_key;

create unique index trigger_deliveries_signed on trigger_deliveries (trigger_id, signed_as);
