-- Every statement of the emulator. "-- name: x", a sentence, the statement. Parameters are positional.

-- name: get_setting
-- One of our own settings (the clock's skew).
SELECT value FROM setting WHERE name = ?;

-- name: put_setting
INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: put_workflow
-- Registers a Workflow, or notes its new class; gives its key.
INSERT INTO workflow (id, name, class_name, script_name, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET
    class_name = excluded.class_name,
    script_name = excluded.script_name,
    modified_at = CASE
        WHEN class_name = excluded.class_name AND script_name = excluded.script_name THEN modified_at
        ELSE excluded.modified_at END
RETURNING key;

-- name: undefine_workflows
-- At start: none has code yet.
UPDATE workflow SET defined = 0;

-- name: define_workflow
UPDATE workflow SET defined = ? WHERE key = ?;

-- name: delete_workflow
DELETE FROM workflow WHERE key = ?;

-- name: list_workflows
-- triggered_at is when its newest instance was made: found by the end of each status's range in the index.
SELECT key, id, name, class_name, script_name, created_at, modified_at,
       (SELECT newest.created_at FROM instance AS newest WHERE newest.key = (
           SELECT max((SELECT max(one.key) FROM instance AS one
                       WHERE one.workflow = workflow.key AND one.status = code.column1))
           FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8)) AS code)),
       defined
FROM workflow ORDER BY name;

-- name: put_version
-- A version once seen is kept as it was first seen; gives its key.
INSERT INTO version (id, workflow, class_name, language, created_at, settings, source) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET settings = excluded.settings
RETURNING key;

-- name: list_versions
-- Newest first, without their sources.
SELECT key, id, workflow, class_name, language, created_at, settings, NULL FROM version
WHERE workflow = ? ORDER BY key DESC;

-- name: get_version
SELECT key, id, workflow, class_name, language, created_at, settings, source FROM version WHERE key = ?;

-- name: get_version_by_id
SELECT key, id, workflow, class_name, language, created_at, settings, source FROM version WHERE id = ?;

-- name: insert_instance
-- A used id conflicts and inserts nothing.
INSERT INTO instance (workflow, id, status, created_at, modified_at, queue_rank, version, trigger,
                      success_retention_ms, error_retention_ms, schedule, params, created_by, copied_from)
VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (workflow, id) DO NOTHING
RETURNING key;

-- name: find_instance
SELECT key FROM instance WHERE workflow = ? AND id = ?;

-- name: get_instance
SELECT key, workflow, id, status, created_at, modified_at, started_at, ended_at, paused_at, wake_at, expires_at, version,
       trigger, schedule, success_retention_ms, error_retention_ms,
       (SELECT count(*) FROM step WHERE step.instance = instance.key), created_by, copied_from, restarted_from,
       restarted_at
FROM instance WHERE key = ?;

-- name: get_stored
-- What the engine keeps of an instance in memory.
SELECT workflow, id, status, started_at IS NOT NULL, success_retention_ms, error_retention_ms,
       max(event_floor, coalesce((SELECT event_id + (types >= 1000) FROM history
                                  WHERE history.instance = instance.key ORDER BY event_id DESC LIMIT 1), 0))
FROM instance WHERE key = ?;

-- name: get_run_input
SELECT created_at, params, schedule FROM instance WHERE key = ?;

-- name: was_rested
SELECT rested FROM instance WHERE key = ?;

-- name: get_status
SELECT status FROM instance WHERE key = ?;

-- name: get_values
SELECT params, output, error, rollback, reason FROM instance WHERE key = ?;

-- name: start_instance
-- From queued or waiting to running; the first start is remembered. A pass that begins says anew when to wake it.
UPDATE instance SET status = 1, queue_rank = NULL, started_at = coalesce(started_at, ?2), modified_at = ?2,
  wake_at = iif(?3, wake_at, NULL) WHERE key = ?1;

-- name: set_status
-- Moves between running, waiting, waitingForPause and rollingBack.
UPDATE instance SET status = ?, modified_at = ?, wake_at = ?, queue_rank = NULL, paused_at = NULL WHERE key = ?;

-- name: queue_instance
-- Back into the queue, at the place that the rank says.
UPDATE instance SET status = 0, modified_at = ?, wake_at = NULL, paused_at = NULL, queue_rank = ? WHERE key = ?;

-- name: pause_instance
-- rested: 1: there was no run in memory, and there need be none after resume until the wake; 2: run() ended.
UPDATE instance SET status = 2, modified_at = ?2, paused_at = ?2, wake_at = NULL, queue_rank = NULL, rested = ?3
WHERE key = ?1;

-- name: end_while_paused
UPDATE instance SET rested = 2 WHERE key = ?;

-- name: resume_instance
UPDATE instance SET status = ?, modified_at = ?, wake_at = ?, paused_at = NULL, rested = NULL WHERE key = ?;

-- name: set_wake
UPDATE instance SET wake_at = ? WHERE key = ?;

-- name: finish_instance
UPDATE instance SET status = ?2, modified_at = ?3, ended_at = ?3, wake_at = NULL, paused_at = NULL, queue_rank = NULL,
                    expires_at = ?4, output = ?5, error = ?6, reason = ?7
WHERE key = ?1;

-- name: set_error
-- While it rolls back, the error shows already (case rollback-status).
UPDATE instance SET error = ? WHERE key = ?;

-- name: set_rollback
UPDATE instance SET rollback = ? WHERE key = ?;

-- name: reset_instance
-- For restart: as created, with the ids of its events going on from where they were.
UPDATE instance SET status = 0, modified_at = ?2, started_at = CASE WHEN ?6 THEN NULL ELSE started_at END, ended_at = NULL, paused_at = NULL, wake_at = NULL,
                    expires_at = NULL, queue_rank = ?3, version = ?4, output = NULL, error = NULL, rollback = NULL,
                    reason = NULL, event_floor = ?5, restarted_from = CASE WHEN ?6 THEN NULL ELSE ?7 END,
                    restarted_at = CASE WHEN ?6 THEN NULL ELSE ?2 END
WHERE key = ?1;

-- name: last_event_id
SELECT max(event_floor, coalesce((SELECT event_id + (types >= 1000) FROM history
                                  WHERE history.instance = instance.key ORDER BY event_id DESC LIMIT 1), 0))
FROM instance WHERE key = ?;

-- name: delete_instance
DELETE FROM instance WHERE key = ?;

-- name: delete_steps
DELETE FROM step WHERE instance = ? AND seq >= ?;

-- name: delete_all_history
DELETE FROM history WHERE instance = ?;

-- name: delete_step_history
-- Entries of wiped steps; those that share their public name with a kept step stay (case restart-from-type-sleep).
DELETE FROM history WHERE instance = ?1 AND step >= ?2 AND NOT EXISTS (
    SELECT 1 FROM step AS wiped JOIN step AS kept
    ON kept.instance = wiped.instance AND kept.seq < ?2 AND kept.name = wiped.name AND kept.count = wiped.count
    WHERE wiped.instance = ?1 AND wiped.seq = history.step
);

-- name: delete_workflow_history
-- Entries of the instance itself, but for workflow_queued (0), workflow_started (1, 1003).
DELETE FROM history WHERE instance = ? AND step IS NULL AND types NOT IN (0, 1);

-- name: split_started
-- Before a restart from a step: workflow_started stays, the workflow_running beside it goes.
UPDATE history SET types = 1 WHERE instance = ? AND types = 1003;

-- name: delete_events
DELETE FROM event WHERE instance = ?;

-- name: delete_unclaimed_events
-- Those not taken, and those taken by wiped waits.
DELETE FROM event WHERE instance = ?1 AND (claimed_by IS NULL OR claimed_by >= ?2);

-- name: insert_pass
-- Numbered on from the first pass, which has no row. INSERT ... SELECT from the table itself would build a temporary
-- table each time.
INSERT INTO pass (instance, number, at, cause, version)
VALUES (?1, coalesce((SELECT max(number) FROM pass WHERE instance = ?1), 1) + 1, ?2, ?3, ?4);

-- name: delete_passes
DELETE FROM pass WHERE instance = ?;

-- name: delete_chunks
DELETE FROM chunk WHERE instance = ? AND step >= ?;

-- name: delete_stream
DELETE FROM chunk WHERE instance = ? AND step = ?;

-- name: delete_logs
DELETE FROM log WHERE instance = ?;

-- name: next_wake
-- When the earliest waiting instance is due. "+" keeps SQLite on the index of wake_at: the one of workflow, which it
-- would take, visits every instance (125 ms at 100,000).
SELECT wake_at FROM instance
WHERE wake_at IS NOT NULL AND +workflow IN (SELECT key FROM workflow WHERE defined)
  AND key NOT IN (SELECT value FROM json_each(?)) ORDER BY wake_at LIMIT 1;

-- name: due_instances
-- Earliest first; of one moment, the oldest first. "+" as above.
SELECT key, workflow, wake_at FROM instance
WHERE wake_at IS NOT NULL AND wake_at <= ? AND +workflow IN (SELECT key FROM workflow WHERE defined)
  AND key NOT IN (SELECT value FROM json_each(?))
ORDER BY wake_at, key LIMIT ?;

-- name: left_in_memory
-- What was running when the process died.
SELECT key, workflow, status FROM instance WHERE status IN (1, 6, 8) ORDER BY key;

-- name: next_queued
-- The head of a Workflow's queue: resumed and woken ones (negative ranks) before new ones.
SELECT key FROM instance WHERE workflow = ? AND queue_rank IS NOT NULL AND key NOT IN (SELECT value FROM json_each(?))
ORDER BY queue_rank, key LIMIT ?;

-- name: count_queued
SELECT workflow, count(*) FROM instance WHERE queue_rank IS NOT NULL GROUP BY workflow;

-- name: queued_before
-- How many of its Workflow's queue come before it.
SELECT count(*) FROM instance AS other, instance AS mine
WHERE mine.key = ? AND other.workflow = mine.workflow AND other.queue_rank IS NOT NULL
  AND (other.queue_rank, other.key) < (mine.queue_rank, mine.key);

-- name: expired_instances
SELECT key, workflow FROM instance WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?;

-- name: next_expiry
SELECT expires_at FROM instance WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1;

-- name: queue_the_forgotten
-- Created, but the process died before it was started or queued: as if it had waited all the time.
UPDATE instance SET queue_rank = 0 WHERE workflow = ? AND status = 0 AND queue_rank IS NULL;

-- name: pending_waits
-- Event waits of an instance that nothing has ended yet.
SELECT seq, step_config.text FROM step JOIN step_config ON step_config.key = step.config
WHERE instance = ? AND kind = 2 AND state = 2 ORDER BY seq;

-- name: instance_keys
SELECT key FROM instance WHERE workflow = ?;

-- name: put_config
INSERT INTO step_config (text, site) VALUES (?, ?) ON CONFLICT (text, site) DO UPDATE SET text = excluded.text
RETURNING key;

-- name: insert_step
INSERT INTO step (instance, seq, kind, name, count, parent, state, attempts, started_at, due_at, has_rollback, config)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: start_attempt
-- From a retry that is due, or from an attempt that a crash cut off; always the next number.
UPDATE step SET state = 0, attempts = ?1, due_at = NULL
WHERE instance = ?2 AND seq = ?3 AND state IN (0, 1) AND attempts = ?1 - 1;

-- name: retry_step
UPDATE step SET state = 1, due_at = ? WHERE instance = ? AND seq = ? AND state = 0;

-- name: complete_step
-- Of an attempt in flight, or of a sleep or wait.
UPDATE step SET state = 3, ended_at = ?, due_at = NULL, output = ?, sealed = ?, stream = ?
WHERE instance = ? AND seq = ? AND state IN (0, 2);

-- name: fail_step
UPDATE step SET state = 4, ended_at = ?, due_at = NULL, error = ? WHERE instance = ? AND seq = ? AND state IN (0, 2);

-- name: move_step
-- A new deadline: skipped, or moved by a pause.
UPDATE step SET due_at = ? WHERE instance = ? AND seq = ?;

-- name: register_rollback
UPDATE step SET has_rollback = 1 WHERE instance = ? AND seq = ?;

-- name: move_deadlines
-- After a pause: every wait keeps the time it had left.
UPDATE step SET due_at = due_at + ? WHERE instance = ? AND due_at IS NOT NULL;

-- name: min_deadline
SELECT min(due_at) FROM step WHERE instance = ? AND due_at IS NOT NULL;

-- name: list_steps
-- All records of an instance, for a replay: one query.
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback, step_config.text,
       error, output, stream, sealed
FROM step JOIN step_config ON step_config.key = step.config WHERE instance = ? ORDER BY seq;

-- name: steps_without_json
-- Steps of an instance whose values a damaged disk or another program has spoiled.
SELECT seq FROM step JOIN step_config ON step_config.key = step.config
WHERE instance = ? AND NOT (coalesce(json_valid(output), 1) AND coalesce(json_valid(error), 1)
                            AND json_valid(step_config.text)) LIMIT 1;

-- name: names_of_steps
-- As bytes, which can be read whatever they are.
SELECT seq, CAST(name AS BLOB), count, (SELECT CAST(id AS BLOB) FROM instance WHERE instance.key = step.instance)
FROM step WHERE instance = ? ORDER BY seq;

-- name: list_steps_checked
-- The same, and whether a damaged disk or another program has spoiled a value.
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback, step_config.text,
       error, output, stream, sealed,
       coalesce(json_valid(output), 1) AND coalesce(json_valid(error), 1) AND json_valid(step_config.text)
FROM step JOIN step_config ON step_config.key = step.config WHERE instance = ? ORDER BY seq;

-- name: list_steps_light
-- Without outputs.
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback, step_config.text,
       error, NULL, stream, sealed IS NOT NULL
FROM step JOIN step_config ON step_config.key = step.config WHERE instance = ? ORDER BY seq;

-- name: list_steps_shown
-- A long output as a JSON text of its beginning: 1,024 characters of what is stored.
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback, step_config.text,
       error, CASE WHEN octet_length(output) > ?2 THEN json_quote(substr(output, 1, 1024) || '[truncated output]')
                   ELSE output END, stream, sealed IS NOT NULL
FROM step JOIN step_config ON step_config.key = step.config WHERE instance = ?1 ORDER BY seq;

-- name: get_step
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback, step_config.text,
       error, output, stream, sealed
FROM step JOIN step_config ON step_config.key = step.config WHERE instance = ? AND seq = ?;

-- name: find_step
SELECT seq FROM step WHERE instance = ? AND kind = ? AND name = ? AND count = ?;

-- name: stored_bytes
-- What an instance holds, as the limit counts it.
SELECT (SELECT coalesce(sum(length(data)), 0) FROM chunk WHERE instance = ?1)
     + (SELECT coalesce(sum(octet_length(output)), 0) + coalesce(sum(length(sealed)), 0) FROM step WHERE instance = ?1);

-- name: append_history
INSERT INTO history (instance, event_id, types, at, step, attempt, detail) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: read_history
SELECT event_id, types, at, step, attempt, detail FROM history WHERE instance = ? AND event_id >= ? ORDER BY event_id
LIMIT ?;

-- name: newest_history
SELECT event_id, types, at, step, attempt, detail FROM history WHERE instance = ? ORDER BY event_id DESC LIMIT ?;

-- name: read_step_history
SELECT event_id, types, at, step, attempt, detail FROM history WHERE instance = ? AND step = ? ORDER BY event_id;

-- name: insert_event
INSERT INTO event (instance, type, payload, received_at) VALUES (?, ?, ?, ?);

-- name: oldest_event
SELECT key, type, payload, received_at, claimed_by FROM event
WHERE instance = ? AND type = ? AND claimed_by IS NULL ORDER BY key LIMIT 1;

-- name: claim_event
UPDATE event SET claimed_by = ? WHERE key = ? AND claimed_by IS NULL;

-- name: list_events
SELECT key, type, payload, received_at, claimed_by FROM event WHERE instance = ? ORDER BY key;

-- name: insert_chunk
INSERT INTO chunk (instance, step, n, data) VALUES (?, ?, ?, ?);

-- name: get_chunk
SELECT data, (SELECT instr(text, '"sensitive":') > 0 FROM step JOIN step_config ON step_config.key = step.config
              WHERE step.instance = chunk.instance AND step.seq = chunk.step)
FROM chunk WHERE instance = ? AND step = ? AND n = ?;

-- name: insert_log
INSERT INTO log (instance, at, step, attempt, level, text) VALUES (?, ?, ?, ?, ?, ?);

-- name: list_logs
SELECT key, at, step, attempt, level, text FROM log WHERE instance = ? AND key > ? ORDER BY key LIMIT ?;

-- name: count_by_status
-- Each count is a range of the index; grouping the same range costs twice as much.
SELECT workflow.key, code.column1,
       (SELECT count(*) FROM instance AS one WHERE one.workflow = workflow.key AND one.status = code.column1)
FROM workflow, (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8)) AS code;

-- name: last_payload
-- The newest payload of an event of this type, for any instance of the Workflow; of the newest 10,000 events.
SELECT newest.payload FROM (SELECT key, instance, type, payload FROM event ORDER BY key DESC LIMIT 10000) AS newest
CROSS JOIN instance ON instance.key = newest.instance
WHERE newest.type = ? AND instance.workflow = ? ORDER BY newest.key DESC LIMIT 1;
