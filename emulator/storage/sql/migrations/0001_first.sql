-- The first schema. Times are ms since the epoch; status, trigger, kind and state are codes (emulator/storage/codes.py).

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE workflow (
    key          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL UNIQUE,
    class_name   TEXT NOT NULL,
    script_name  TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    modified_at  INTEGER NOT NULL,
    defined      INTEGER NOT NULL DEFAULT 0 -- whether the running emulator has code for it
);

CREATE TABLE version (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    workflow   INTEGER NOT NULL REFERENCES workflow (key) ON DELETE CASCADE,
    class_name TEXT NOT NULL,
    language   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    settings   TEXT NOT NULL,
    source     TEXT
);
CREATE INDEX version_of_workflow ON version (workflow);

-- The key grows with creation, so "newest first" is the order of the keys and every list is a keyset.
CREATE TABLE instance (
    key                  INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow             INTEGER NOT NULL REFERENCES workflow (key),
    id                   TEXT NOT NULL,
    status               INTEGER NOT NULL,
    created_at           INTEGER NOT NULL,
    modified_at          INTEGER NOT NULL,
    started_at           INTEGER,
    ended_at             INTEGER,
    paused_at            INTEGER,
    wake_at              INTEGER,
    expires_at           INTEGER,
    queue_rank           INTEGER,
    rested               INTEGER, -- paused while no run was in memory
    version              INTEGER NOT NULL,
    trigger              INTEGER NOT NULL,
    success_retention_ms INTEGER,
    error_retention_ms   INTEGER,
    event_floor          INTEGER NOT NULL DEFAULT 0,
    schedule             TEXT,
    params               TEXT,
    error                TEXT,
    rollback             TEXT,
    reason               TEXT,
    output               TEXT
);
CREATE UNIQUE INDEX instance_of_id ON instance (workflow, id);
CREATE INDEX instance_of_status ON instance (workflow, status);
CREATE INDEX instance_to_wake ON instance (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX instance_to_expire ON instance (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX instance_in_queue ON instance (workflow, queue_rank) WHERE queue_rank IS NOT NULL;
-- Running, waitingForPause, rollingBack: what a dead process left behind (codes 1, 6, 8).
CREATE INDEX instance_in_memory ON instance (status) WHERE status IN (1, 6, 8);

-- Configs repeat: a step refers to one.
CREATE TABLE step_config (
    key  INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
);

-- A step is (kind, name, count) within its instance; seq is the order of first arrival.
CREATE TABLE step (
    instance     INTEGER NOT NULL,
    seq          INTEGER NOT NULL,
    kind         INTEGER NOT NULL,
    name         TEXT NOT NULL,
    count        INTEGER NOT NULL,
    parent       INTEGER,
    state        INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    due_at       INTEGER,
    has_rollback INTEGER,
    config       INTEGER NOT NULL,
    stream       TEXT,
    error        TEXT,
    output       TEXT,
    sealed       BLOB, -- the output of a sensitive step, written so that nobody reads it by accident
    PRIMARY KEY (instance, seq)
) WITHOUT ROWID;

-- One row holds the entries that one moment of one step wrote together; types names them.
CREATE TABLE history (
    instance INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    types    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    step     INTEGER,
    attempt  INTEGER,
    detail   TEXT,
    PRIMARY KEY (instance, event_id)
) WITHOUT ROWID;

-- An event is claimed by at most one wait, and a wait claims at most one event.
CREATE TABLE event (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    instance    INTEGER NOT NULL,
    type        TEXT NOT NULL,
    payload     TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    claimed_by  INTEGER
);
CREATE INDEX event_of_instance ON event (instance, type);
CREATE UNIQUE INDEX event_of_wait ON event (instance, claimed_by) WHERE claimed_by IS NOT NULL;

CREATE TABLE chunk (
    instance INTEGER NOT NULL,
    step     INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    data     BLOB NOT NULL,
    PRIMARY KEY (instance, step, n)
) WITHOUT ROWID;

CREATE TABLE log (
    key      INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    step     INTEGER,
    attempt  INTEGER,
    level    TEXT NOT NULL,
    text     TEXT NOT NULL
);
CREATE INDEX log_of_instance ON log (instance);
