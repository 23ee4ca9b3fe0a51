-- Where an instance comes from. created_by and copied_from: JSON of [Workflow, instance id], the instance whose code
-- created it and the one whose results it began with. restarted_from and restarted_at: the last restart from a step.
ALTER TABLE instance ADD COLUMN created_by TEXT;
ALTER TABLE instance ADD COLUMN copied_from TEXT;
ALTER TABLE instance ADD COLUMN restarted_from INTEGER;
ALTER TABLE instance ADD COLUMN restarted_at INTEGER;
