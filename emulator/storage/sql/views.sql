-- Statements of the dashboard's reads. Same form as queries.sql.

-- name: step_tallies
-- Steps by state of the instances in a JSON list of keys.
SELECT instance, state, count(*), max(seq) FROM step
WHERE instance IN (SELECT value FROM json_each(?)) GROUP BY instance, state;

-- name: steps_at
-- The steps of a JSON list of [instance, seq].
SELECT step.instance, seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, step_config.text, substr(error, 1, 4096)
FROM (SELECT value ->> 0 AS place_instance, value ->> 1 AS place_seq FROM json_each(?))
JOIN step ON step.instance = place_instance AND step.seq = place_seq
JOIN step_config ON step_config.key = step.config;

-- name: waking_steps
-- Of the instances in a JSON list of keys, the open steps that are due at a time.
SELECT step.instance, seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, step_config.text, NULL
FROM (SELECT value AS wanted FROM json_each(?)) JOIN step ON step.instance = wanted AND step.ended_at IS NULL AND step.due_at IS NOT NULL
JOIN step_config ON step_config.key = step.config ORDER BY due_at;

-- name: step_window
-- A stretch of an instance's steps, without outputs.
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback, step_config.text,
       substr(error, 1, 4096), NULL, stream, sealed IS NOT NULL
FROM step JOIN step_config ON step_config.key = step.config WHERE instance = ? AND seq >= ? ORDER BY seq LIMIT ?;

-- name: step_outline
-- Every step of an instance, as a timeline groups them.
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback
FROM step WHERE instance = ? ORDER BY seq;

-- name: entry_counts
-- The history is counted in its rows, each of which holds one entry or two.
SELECT (SELECT count(*) FROM event WHERE instance = ?1), (SELECT count(*) FROM log WHERE instance = ?1),
       (SELECT coalesce(sum(iif(types >= 1000, 2, 1)), 0) FROM history WHERE instance = ?1);

-- name: call_site
SELECT step_config.site FROM step JOIN step_config ON step_config.key = step.config WHERE instance = ? AND seq = ?;

-- name: step_before
-- The last step.do of a name that began before another.
SELECT max(seq) FROM step WHERE instance = ? AND seq < ? AND kind = 0 AND name = ?;

-- name: steps_of
-- The steps of an instance in a JSON list of seqs, without outputs.
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback, step_config.text,
       substr(error, 1, 4096), NULL, stream, sealed IS NOT NULL
FROM step JOIN step_config ON step_config.key = step.config
WHERE instance = ? AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq;

-- name: sizes_of
-- Like output_sizes, of the steps in a JSON list of seqs.
SELECT seq, coalesce(octet_length(output), octet_length(sealed),
                     (SELECT sum(length(data)) FROM chunk WHERE chunk.instance = step.instance AND chunk.step = step.seq))
FROM step WHERE instance = ? AND seq IN (SELECT value FROM json_each(?));

-- name: output_sizes
SELECT seq, coalesce(octet_length(output), octet_length(sealed),
                     (SELECT sum(length(data)) FROM chunk WHERE chunk.instance = step.instance AND chunk.step = step.seq))
FROM step WHERE instance = ? AND seq BETWEEN ? AND ?;

-- name: value_sizes
SELECT octet_length(params), octet_length(output), octet_length(error) FROM instance WHERE key = ?;

-- name: error_briefs
-- The beginning of the errors of the instances in a JSON list of keys.
SELECT key, substr(error, 1, 4096) FROM instance
WHERE key IN (SELECT value FROM json_each(?)) AND error IS NOT NULL;

-- name: output_briefs
-- The start of the outputs of the instances in a JSON list of keys.
SELECT key, substr(output, 1, 600) FROM instance
WHERE key IN (SELECT value FROM json_each(?)) AND output IS NOT NULL;

-- name: history_window
-- Entries of a stretch of steps, and those of the instance itself.
SELECT event_id, types, at, step, attempt, detail FROM history
WHERE instance = ? AND (step IS NULL OR step BETWEEN ? AND ?) ORDER BY event_id;

-- name: history_of
-- Entries of the steps in a JSON list of seqs, and those of the instance itself: the newest of each, 4,000 at most.
SELECT event_id, types, at, step, attempt, substr(detail, 1, 4096) FROM history
WHERE instance = ?1 AND event_id IN (
    SELECT event_id FROM (
        SELECT event_id, step, row_number() OVER (PARTITION BY step ORDER BY event_id DESC) AS place FROM history
        WHERE instance = ?1 AND (step IS NULL OR step IN (SELECT value FROM json_each(?2))))
    WHERE place <= iif(step IS NULL, 1000, 100) ORDER BY event_id DESC LIMIT 4000)
ORDER BY event_id;

-- name: last_history
SELECT event_id, types, at, step, attempt, substr(detail, 1, 4096) FROM history
WHERE instance = ? AND event_id < ? ORDER BY event_id DESC LIMIT ?;

-- name: history_page
-- A row may hold two entries, the second of which is the first of the page.
SELECT event_id, types, at, step, attempt, substr(detail, 1, 4096) FROM history
WHERE instance = ? AND event_id >= ? ORDER BY event_id LIMIT ?;

-- name: last_step_history
SELECT event_id, types, at, step, attempt, substr(detail, 1, 4096) FROM history
WHERE instance = ? AND step = ? ORDER BY event_id DESC LIMIT ?;

-- name: values_shown
-- Params and output unless they are longer than a page shows beside others, and the beginning of errors.
SELECT iif(octet_length(params) <= ?2, params, NULL), iif(octet_length(output) <= ?2, output, NULL),
       substr(error, 1, 65536), substr(rollback, 1, 65536), substr(reason, 1, 4096)
FROM instance WHERE key = ?1;

-- name: step_shown
-- Like get_step, without an output that is longer than a page shows, and with the beginning of the error.
SELECT seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, has_rollback, step_config.text,
       substr(error, 1, 65536), iif(octet_length(output) <= ?3, output, NULL), stream, sealed IS NOT NULL
FROM step JOIN step_config ON step_config.key = step.config WHERE instance = ?1 AND seq = ?2;

-- name: count_events
SELECT count(*) FROM event WHERE instance = ?;

-- name: events_shown
-- The newest events, without long payloads.
SELECT key, type, iif(octet_length(payload) <= ?2, payload, NULL), octet_length(payload), received_at, claimed_by
FROM event WHERE instance = ?1 ORDER BY key DESC LIMIT ?3;

-- name: event_payload
SELECT payload FROM event WHERE instance = ? AND key = ?;

-- name: logs_shown
-- Lines of an instance, or of one of its steps, each with its beginning.
SELECT key, at, step, attempt, level, substr(text, 1, 4001) FROM log
WHERE instance = ?1 AND (?2 IS NULL OR step = ?2) ORDER BY key LIMIT ?3;

-- name: log_text
SELECT text FROM log WHERE instance = ? AND key = ?;

-- name: newest_passes
SELECT number, at, cause, version FROM pass WHERE instance = ? ORDER BY number DESC LIMIT ?;

-- name: known_steps
-- Of the newest 200 instances (of one Workflow, or of all), 500 names at most.
SELECT DISTINCT step.kind, step.name, CASE step.kind WHEN 2 THEN step_config.text ->> 'type' ELSE '' END
FROM (SELECT key FROM instance WHERE ?1 IS NULL OR workflow = ?1 ORDER BY key DESC LIMIT 200) AS newest
JOIN step ON step.instance = newest.key JOIN step_config ON step_config.key = step.config
LIMIT 500;

-- name: run_steps
SELECT step.instance, seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, step_config.text, NULL
FROM step JOIN step_config ON step_config.key = step.config WHERE step.instance = ? ORDER BY seq LIMIT ?;

-- name: recent_runs
-- What the newest instances of a Workflow did but for one, 1,500 steps at most.
SELECT step.instance, seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, step_config.text, NULL
FROM (SELECT key FROM instance WHERE workflow = ?1 AND key <> ?2 ORDER BY key DESC LIMIT ?3) AS newest
JOIN step ON step.instance = newest.key JOIN step_config ON step_config.key = step.config
ORDER BY step.instance DESC, seq LIMIT 1500;

-- name: upcoming
SELECT key, workflow, id, status, created_at, wake_at FROM instance
WHERE wake_at IS NOT NULL AND +workflow IN (SELECT key FROM workflow WHERE defined) ORDER BY wake_at, key LIMIT ?;

-- name: count_waking
SELECT count(*) FROM instance
WHERE wake_at IS NOT NULL AND wake_at <= ? AND +workflow IN (SELECT key FROM workflow WHERE defined);

-- name: briefs
SELECT key, workflow, id, status, created_at, wake_at FROM instance
WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key DESC;

-- name: found_by_id
-- The id itself through the index of ids, then the newest that contain it.
SELECT key, workflow, id, status, created_at, wake_at FROM instance JOIN (
    SELECT 0 AS rank, one.key AS found FROM workflow CROSS JOIN instance AS one ON one.workflow = workflow.key AND one.id = ?1
    UNION ALL
    SELECT * FROM (SELECT 1, key FROM instance WHERE instr(id, ?1) > 0 AND id <> ?1 ORDER BY key DESC LIMIT ?2)
) ON key = found ORDER BY rank, key DESC LIMIT ?2;
