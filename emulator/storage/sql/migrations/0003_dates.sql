-- With the key before it, the time of creation costs lists nothing, and lists and counts by date never leave the index.
DROP INDEX instance_of_status;
CREATE INDEX instance_of_status ON instance (workflow, status, key, created_at);
