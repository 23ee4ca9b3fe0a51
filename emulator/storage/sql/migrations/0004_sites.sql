-- Where user code calls a step lies beside the step's config: steps refer to both with the one key that they have.
ALTER TABLE step_config RENAME TO config_without_site;
CREATE TABLE step_config (
    key  INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    site TEXT NOT NULL DEFAULT '', -- JSON of [file, line, names of the steps whose results it is given]
    UNIQUE (text, site)
);
INSERT INTO step_config (key, text) SELECT key, text FROM config_without_site;
DROP TABLE config_without_site;
